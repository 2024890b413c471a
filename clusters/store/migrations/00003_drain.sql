-- +goose Up

-- Clusters that were removed although work was there, so that it is given up there.
CREATE TABLE cluster_removals (
    name       text        PRIMARY KEY,
    removed_at timestamptz NOT NULL
);

-- When attempts that are still on a draining cluster are ended.
ALTER TABLE clusters ADD COLUMN drain_until timestamptz;

-- +goose Down
ALTER TABLE clusters DROP COLUMN drain_until;
DROP TABLE cluster_removals;
