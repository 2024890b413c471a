-- +goose Up

-- For how long cpu_ms counts. NULL of attempts that were measured before, for which it is not known.
ALTER TABLE attempt_usage ADD COLUMN measured_ms bigint;

-- What was really used while it was measured, and what was requested for that time, in the units of cpu and memory.
ALTER TABLE use_days
    ADD COLUMN used_cpu       bigint NOT NULL DEFAULT 0,
    ADD COLUMN used_cpu_of    bigint NOT NULL DEFAULT 0,
    ADD COLUMN used_memory    bigint NOT NULL DEFAULT 0,
    ADD COLUMN used_memory_of bigint NOT NULL DEFAULT 0;

-- The same of all rates, since it has no price.
ALTER TABLE run_use
    ADD COLUMN used_cpu       bigint NOT NULL DEFAULT 0,
    ADD COLUMN used_cpu_of    bigint NOT NULL DEFAULT 0,
    ADD COLUMN used_memory    bigint NOT NULL DEFAULT 0,
    ADD COLUMN used_memory_of bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE run_use DROP COLUMN used_cpu, DROP COLUMN used_cpu_of, DROP COLUMN used_memory, DROP COLUMN used_memory_of;
ALTER TABLE use_days DROP COLUMN used_cpu, DROP COLUMN used_cpu_of, DROP COLUMN used_memory, DROP COLUMN used_memory_of;
ALTER TABLE attempt_usage DROP COLUMN measured_ms;
