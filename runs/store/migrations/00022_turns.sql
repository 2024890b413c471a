-- +goose NO TRANSACTION
-- +goose Up

-- The queue in the order in which projects and people take turns: each project, and each person of a project, has its
-- waiting actions together, so that a pass can skip from one to the next. The version before reads the same rows through
-- these indexes, which have the predicates and the first columns of those that they replace.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_waiting_roots;
CREATE INDEX CONCURRENTLY actions_waiting_roots ON actions (queue, runner, (-priority), project, created_by_subject, id)
    WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0 AND parent_name IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS actions_waiting_children;
CREATE INDEX CONCURRENTLY actions_waiting_children ON actions (queue, runner, (-priority), project, run_id, id)
    WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0 AND parent_name IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS actions_queue_roots;
DROP INDEX CONCURRENTLY IF EXISTS actions_queue;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS actions_queue ON actions (queue, runner, (-priority), run_id, id)
    WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0 AND parent_name IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS actions_queue_roots ON actions (queue, runner, (-priority), id)
    WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0 AND parent_name IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS actions_waiting_children;
DROP INDEX CONCURRENTLY IF EXISTS actions_waiting_roots;
