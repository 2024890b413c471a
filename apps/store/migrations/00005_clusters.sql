-- +goose Up

ALTER TABLE apps
    ADD COLUMN others  text[] NOT NULL DEFAULT '{}', -- further clusters that run it
    ADD COLUMN leaving text[] NOT NULL DEFAULT '{}', -- clusters that run it until another one does
    ADD COLUMN waits   text   NOT NULL DEFAULT '';   -- why no cluster runs it; empty if one does

-- +goose Down
ALTER TABLE apps DROP COLUMN others, DROP COLUMN leaving, DROP COLUMN waits;
