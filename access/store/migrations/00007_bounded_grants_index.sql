-- +goose NO TRANSACTION
-- +goose Up

-- The unfinished sign-ins of an address, of which the oldest go.
SET lock_timeout = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS access_grants_peer ON access_grants (peer, begun_at) WHERE peer <> '';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS access_grants_peer;
