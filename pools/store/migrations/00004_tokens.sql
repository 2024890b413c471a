-- +goose NO TRANSACTION
-- +goose Up

-- Each stream of a worker begins with a search for its token.
SET lock_timeout = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS pool_workers_token ON pool_workers (token_hash) WHERE token_hash <> '';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS pool_workers_token;
