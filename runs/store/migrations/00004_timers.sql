-- +goose Up

-- What the engine does with an action at wake_at (store.Due).
ALTER TABLE actions ADD COLUMN due smallint NOT NULL DEFAULT 0;
-- Starts need the object store; they are a list of their own, so that they hold up nothing else.
DROP INDEX actions_wake;
CREATE INDEX actions_wake  ON actions (wake_at, id) WHERE due > 1;
CREATE INDEX actions_start ON actions (wake_at, id) WHERE due = 1;

-- Webhooks of conditions that are still to be called. A row is written with its condition and goes when the call was
-- answered, was given up, or is needed no more. What to call is in the condition's spec.
CREATE TABLE webhooks (
    action_id bigint      PRIMARY KEY,
    run_id    bigint      NOT NULL,
    next_at   timestamptz NOT NULL,               -- when to try next
    tries     integer     NOT NULL DEFAULT 0      -- how many failed
);
CREATE INDEX webhooks_next ON webhooks (next_at, action_id);

-- Keys that the installation made for itself, by what they sign.
CREATE TABLE signing_keys (
    name text  PRIMARY KEY,
    key  bytea NOT NULL
);

-- +goose Down
DROP TABLE signing_keys, webhooks;
DROP INDEX actions_start, actions_wake;
ALTER TABLE actions DROP COLUMN due;
CREATE INDEX actions_wake ON actions (wake_at, id) WHERE wake_at IS NOT NULL;
