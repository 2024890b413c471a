-- +goose Up

-- Apps of type connector are connectors too: they run the tasks of their own project and domain, empty for those of all, and say once for
-- each revision which types they serve.
ALTER TABLE connectors ADD COLUMN project text NOT NULL DEFAULT '', ADD COLUMN domain text NOT NULL DEFAULT '',
    ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE connectors DROP COLUMN revision, DROP COLUMN domain, DROP COLUMN project;
