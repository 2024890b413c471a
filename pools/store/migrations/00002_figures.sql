-- +goose Up

ALTER TABLE worker_pools
    ADD COLUMN attempts  bigint NOT NULL DEFAULT 0, -- that workers have left
    ADD COLUMN warm_hits bigint NOT NULL DEFAULT 0, -- of these, whose worker was up before
    ADD COLUMN starts    bigint NOT NULL DEFAULT 0, -- of workers
    ADD COLUMN losses    bigint NOT NULL DEFAULT 0; -- of workers

ALTER TABLE pool_workers
    ADD COLUMN connected_at timestamptz,                   -- when its first session began
    ADD COLUMN given        bigint  NOT NULL DEFAULT 0,     -- attempts that it has left
    ADD COLUMN reserve      boolean NOT NULL DEFAULT false; -- takes nested actions only

ALTER TABLE pool_actions
    ADD COLUMN offered_at timestamptz,                    -- since when it may begin; null for those of before
    ADD COLUMN claimed_at timestamptz,                    -- when its worker got the attempt
    ADD COLUMN warm_hit   boolean NOT NULL DEFAULT false; -- its worker was up before
ALTER TABLE pool_actions ALTER COLUMN offered_at SET DEFAULT clock_timestamp();

-- +goose Down
ALTER TABLE pool_actions DROP COLUMN offered_at, DROP COLUMN claimed_at, DROP COLUMN warm_hit;
ALTER TABLE pool_workers DROP COLUMN connected_at, DROP COLUMN given, DROP COLUMN reserve;
ALTER TABLE worker_pools DROP COLUMN attempts, DROP COLUMN warm_hits, DROP COLUMN starts, DROP COLUMN losses;
