-- +goose Up

-- The cluster from which the attempt before was taken, because it was away for too long or is drained. The next attempt runs elsewhere.
ALTER TABLE actions ADD COLUMN avoid_cluster text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE actions DROP COLUMN avoid_cluster;
