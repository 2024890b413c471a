-- +goose NO TRANSACTION
-- +goose Up

-- Each stream of a worker begins with a search for its token.
CREATE INDEX CONCURRENTLY pool_workers_token ON pool_workers (token_hash) WHERE token_hash <> '';

-- +goose Down
DROP INDEX CONCURRENTLY pool_workers_token;
