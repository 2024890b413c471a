-- +goose NO TRANSACTION
-- +goose Up

-- Runs that have ended by their duration in ms, as lists sort by it. A run gets its entry when it ends; until then it pays for none.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_scope_duration;
CREATE INDEX CONCURRENTLY actions_root_scope_duration ON actions
    (project, domain, coalesce(floor(extract(epoch FROM ended_at - created_at) * 1000)::bigint, 9223372036854775807), id)
    WHERE parent_name IS NULL AND ended_at IS NOT NULL;

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_scope_duration;
