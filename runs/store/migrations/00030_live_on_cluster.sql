-- +goose NO TRANSACTION
-- +goose Up

-- What runs on one cluster, in the order in which it is read: without it, each of many clusters reads what runs on all of them. The
-- condition is that of actions_live, in other words: the planner takes random reads for expensive, and would rather read the index of
-- what runs anywhere, if it could.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_cluster;
CREATE INDEX CONCURRENTLY actions_live_cluster ON actions (cluster, run_id, id)
    WHERE num_nulls(ended_at) > num_nulls(admitted_at) AND runner IN (0, 3);

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_cluster;
