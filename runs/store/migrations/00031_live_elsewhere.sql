-- +goose NO TRANSACTION
-- +goose Up

-- As actions_live_cluster, without what runs on the cluster default: an installation with one cluster has no entries, and pays for none
-- with each change of an action. What runs on that cluster is read by way of actions_live.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_elsewhere;
CREATE INDEX CONCURRENTLY actions_live_elsewhere ON actions (cluster, run_id, id)
    WHERE num_nulls(ended_at) > num_nulls(admitted_at) AND runner IN (0, 3) AND cluster <> 'default';
DROP INDEX CONCURRENTLY IF EXISTS actions_live_cluster;

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS actions_live_cluster;
CREATE INDEX CONCURRENTLY actions_live_cluster ON actions (cluster, run_id, id)
    WHERE num_nulls(ended_at) > num_nulls(admitted_at) AND runner IN (0, 3);
DROP INDEX CONCURRENTLY IF EXISTS actions_live_elsewhere;
