-- +goose Up

-- Queries of runs with a name: of a project, for all who see it, or a person's own.
CREATE TABLE views (
    project    text        NOT NULL,   -- empty for a person's own
    subject    text        NOT NULL,   -- of the person; empty for a project's
    name       text        NOT NULL,
    query      text        NOT NULL,
    sort_order smallint    NOT NULL,   -- insight.RunOrder
    pinned     boolean     NOT NULL,
    updated_by text        NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (project, subject, name)
);

-- +goose Down
DROP TABLE views;
