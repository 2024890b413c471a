-- +goose NO TRANSACTION
-- +goose Up

-- What connectors run, in the order of actions_live: often few of all live actions, or none, and each of their streams reads them again and
-- again. Actions that run on a cluster have no entries, and pay for none.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_connector;
CREATE INDEX CONCURRENTLY actions_live_connector ON actions (run_id, id)
    WHERE num_nulls(ended_at) > num_nulls(admitted_at) AND runner = 4;

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_connector;
