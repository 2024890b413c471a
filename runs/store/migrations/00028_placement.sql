-- +goose Up

-- How often an attempt of the action was taken back from a cluster. It tells what an earlier placement left on a cluster from what the
-- present one has there, if the action comes back to that cluster.
ALTER TABLE actions ADD COLUMN placement integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE actions DROP COLUMN placement;
