-- +goose Up

-- The version of a controller that was refused last because it does not work with the API.
ALTER TABLE clusters
    ADD COLUMN refused_version text NOT NULL DEFAULT '',
    ADD COLUMN refused_at      timestamptz;

-- +goose Down
ALTER TABLE clusters DROP COLUMN refused_version, DROP COLUMN refused_at;
