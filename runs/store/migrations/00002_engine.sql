-- +goose Up

-- What the engine itself has to do with an action.
ALTER TABLE actions
    ADD COLUMN priority      integer     NOT NULL DEFAULT 0,   -- higher goes first within its queue
    ADD COLUMN runner        smallint    NOT NULL DEFAULT 0,   -- 0: an executor, by TaskAction; 1: the engine, without one
    ADD COLUMN hold          smallint    NOT NULL DEFAULT 0,   -- what has to be settled before admission; 0: nothing
    ADD COLUMN queued_until  timestamptz,                      -- it times out when it has not started by then
    ADD COLUMN deadline_at   timestamptz,                      -- it times out when it has not ended by then
    ADD COLUMN wake_at       timestamptz,                      -- when the engine has to look at it by itself; NULL: never
    ADD COLUMN cache_reason  text        NOT NULL DEFAULT '',  -- why the cache was missed, or where the hit came from
    ADD COLUMN relation_type smallint    NOT NULL DEFAULT 0,   -- root: common.RelationType
    ADD COLUMN relation_run  text        NOT NULL DEFAULT '';  -- root: the run it is related to, in the same project and domain

-- The queue has only what may be admitted; what is held is a list of its own.
DROP INDEX actions_queue;
CREATE INDEX actions_queue    ON actions (run_id, id)                     WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0;
CREATE INDEX actions_held     ON actions (hold, id)                       WHERE hold <> 0 AND ended_at IS NULL;
CREATE INDEX actions_wake     ON actions (wake_at, id)                    WHERE wake_at IS NOT NULL;
CREATE INDEX actions_relation ON actions (project, domain, relation_run, id) WHERE relation_run <> '';

-- +goose Down
DROP INDEX actions_relation, actions_wake, actions_held, actions_queue;
ALTER TABLE actions
    DROP COLUMN priority, DROP COLUMN runner, DROP COLUMN hold, DROP COLUMN queued_until, DROP COLUMN deadline_at,
    DROP COLUMN wake_at, DROP COLUMN cache_reason, DROP COLUMN relation_type, DROP COLUMN relation_run;
CREATE INDEX actions_queue ON actions (run_id, id) WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL;
