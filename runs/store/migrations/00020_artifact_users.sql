-- +goose Up

-- Actions whose inputs may contain the data of artifacts, until their inputs are read. The transaction that records the
-- action writes the row.
CREATE TABLE unread_inputs (
    action_id bigint      PRIMARY KEY,
    run_id    bigint      NOT NULL,
    tries     integer     NOT NULL DEFAULT 0,
    next_at   timestamptz NOT NULL
);
CREATE INDEX unread_inputs_next ON unread_inputs (next_at, action_id);
CREATE INDEX unread_inputs_run  ON unread_inputs (run_id);

-- The first actions of the run that had the version among their inputs, at most ten: a fan-out may have any number. So far
-- only those of root actions were recorded.
ALTER TABLE artifact_uses ADD COLUMN actions bigint[] NOT NULL DEFAULT '{}';
UPDATE artifact_uses SET actions = ARRAY[run_id];

-- +goose Down
ALTER TABLE artifact_uses DROP COLUMN actions;
DROP TABLE unread_inputs;
