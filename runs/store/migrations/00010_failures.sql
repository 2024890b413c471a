-- +goose Up

-- What failed in a run, in the order of creation; phases FAILED and TIMED_OUT.
CREATE INDEX actions_run_failed ON actions (run_id, created_at, id) WHERE phase IN (6, 8);

-- +goose Down
DROP INDEX actions_run_failed;
