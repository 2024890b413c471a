-- +goose NO TRANSACTION
-- +goose Up

-- Runs by their trigger, newest last; those without a trigger have an empty name. Lists that fold the runs of a trigger read both.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_scope_trigger;
CREATE INDEX CONCURRENTLY actions_root_scope_trigger ON actions (project, domain, trigger_name, trigger_task_name, created_at, id)
    WHERE parent_name IS NULL;

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_root_scope_trigger;
