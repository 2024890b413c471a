-- +goose Up

ALTER TABLE pool_actions ADD COLUMN slow_start text NOT NULL DEFAULT ''; -- why its process had to load its code itself
ALTER TABLE worker_pools
    ADD COLUMN slow_starts bigint NOT NULL DEFAULT 0, -- attempts that had to
    ADD COLUMN slow_start  text   NOT NULL DEFAULT ''; -- why the latest one had to

-- +goose Down
ALTER TABLE pool_actions DROP COLUMN slow_start;
ALTER TABLE worker_pools DROP COLUMN slow_starts, DROP COLUMN slow_start;
