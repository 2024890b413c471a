-- +goose Up

-- The directory of the attempt in the object store, so that a look at a job needs nothing but its row; empty for jobs from before.
ALTER TABLE connector_jobs ADD COLUMN dir text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE connector_jobs DROP COLUMN dir;
