-- +goose Up

-- The reservations of cache keys that actions hold, or are about to ask for: what must be extended while they live and
-- released when they end.
CREATE TABLE reserved_keys (
    action_id bigint PRIMARY KEY,
    run_id    bigint NOT NULL,
    project   text   NOT NULL,   -- the scope of the key; empty together with the domain for the global one
    domain    text   NOT NULL,
    key       text   NOT NULL,
    owner     text   NOT NULL    -- as the cache service knows the action
);

-- +goose Down
DROP TABLE reserved_keys;
