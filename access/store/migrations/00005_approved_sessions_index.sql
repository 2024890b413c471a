-- +goose NO TRANSACTION
-- +goose Up

-- The end of a session ends those that it approved.
SET lock_timeout = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS access_sessions_approved_by ON access_sessions (approved_by) WHERE approved_by <> '';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS access_sessions_approved_by;
