-- +goose NO TRANSACTION
-- +goose Up

-- What pools and connectors run, each in the order of actions_live: often few of all live actions, or none, and their streams read them
-- again and again. Actions that have a pod of their own have no entries, and pay for none.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_runner;
CREATE INDEX CONCURRENTLY actions_live_runner ON actions (runner, run_id, id)
    WHERE num_nulls(ended_at) > num_nulls(admitted_at) AND runner IN (3, 4);

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_runner;
