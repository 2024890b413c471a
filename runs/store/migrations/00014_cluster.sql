-- +goose Up

-- The cluster that runs the action: that of its queue when it was recorded. A constant default is kept in the catalog, so
-- that the table is not rewritten.
ALTER TABLE actions ADD COLUMN cluster text NOT NULL DEFAULT 'default';

-- +goose Down
ALTER TABLE actions DROP COLUMN cluster;
