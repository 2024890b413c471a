-- +goose NO TRANSACTION
-- +goose Up

-- Each kind of work has an index, so that none has to be read through to find the others: jobs to look at, jobs whose request was not
-- answered, jobs to delete, and actions that become due later. A job is in one of them.
SET lock_timeout = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS connector_jobs_looks ON connector_jobs (connector, due_at) WHERE stage = 2 AND stop = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS connector_jobs_intended ON connector_jobs (connector, due_at) WHERE stage = 1 AND stop = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS connector_jobs_stopping ON connector_jobs (connector, due_at) WHERE stop <> 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS connector_jobs_later ON connector_jobs (connector, due_at) WHERE stage = 0;
DROP INDEX CONCURRENTLY IF EXISTS connector_jobs_due;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS connector_jobs_due ON connector_jobs (connector, due_at) WHERE stage > 0;
DROP INDEX CONCURRENTLY IF EXISTS connector_jobs_later;
DROP INDEX CONCURRENTLY IF EXISTS connector_jobs_stopping;
DROP INDEX CONCURRENTLY IF EXISTS connector_jobs_intended;
DROP INDEX CONCURRENTLY IF EXISTS connector_jobs_looks;
