-- +goose Up

-- What attempts used of the machine. points is a curve (runs/usage), which the server rewrites while the attempt runs, so
-- pages keep room for the next version of a row. Amounts are NULL where they are not known. Rows go with their action.
CREATE TABLE attempt_usage (
    action_id          bigint      NOT NULL REFERENCES actions (id) ON DELETE CASCADE,
    attempt            integer     NOT NULL,
    last_at            timestamptz NOT NULL,          -- the newest measurement
    cpu_ms             bigint      NOT NULL DEFAULT 0, -- processor time
    gpus               smallint    NOT NULL DEFAULT 0,
    request_cpu        bigint,                        -- thousandths of a core
    request_memory     bigint,                        -- bytes, as all that follow of memory and disks
    request_disk       bigint,
    limit_cpu          bigint,
    limit_memory       bigint,
    limit_disk         bigint,
    peak_cpu           bigint,
    peak_memory        bigint,
    peak_disk          bigint,
    peak_gpu           bigint,                        -- percent, summed over the GPUs
    peak_gpu_memory    bigint,
    points             bytea       NOT NULL,
    PRIMARY KEY (action_id, attempt)
) WITH (fillfactor = 60);

-- +goose Down
DROP TABLE attempt_usage;
