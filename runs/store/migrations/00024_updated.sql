-- +goose NO TRANSACTION
-- +goose Up

-- Runs of all projects by their last update, for a caller who sees very many projects but not all.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_updated;
CREATE INDEX CONCURRENTLY actions_root_updated ON actions (updated_at, id) WHERE parent_name IS NULL;

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_updated;
