-- +goose NO TRANSACTION
-- +goose Up

-- Runs by their cluster. The clusters without a name and default are left out, so that an installation with one cluster has no entries.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_scope_cluster;
CREATE INDEX CONCURRENTLY actions_root_scope_cluster ON actions (project, domain, cluster, created_at, id)
    WHERE parent_name IS NULL AND cluster <> '' AND cluster <> 'default';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_scope_cluster;
