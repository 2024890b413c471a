-- +goose Up

-- The triggers, each at its newest revision. Deleted ones stay: their history does, and a later deployment continues it.
CREATE TABLE triggers (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project         text        NOT NULL,
    domain          text        NOT NULL,
    task_name       text        NOT NULL,
    name            text        NOT NULL,
    revision        bigint      NOT NULL,
    active          boolean     NOT NULL,
    switched        boolean,              -- what a user set; a deployment does not change it
    with_task       boolean     NOT NULL, -- deployed with its task, and deleted when the task comes without it
    automation_type smallint    NOT NULL,
    automation      bytea       NOT NULL, -- task.TriggerAutomationSpec
    spec            bytea       NOT NULL, -- trigger.TriggerSpec, without active
    task_version    text        NOT NULL,
    description     text        NOT NULL,
    deployed_by     bytea       NOT NULL, -- common.EnrichedIdentity
    updated_by      bytea       NOT NULL,
    deployed_at     timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    triggered_at    timestamptz,
    deleted_at      timestamptz,
    anchor          timestamptz NOT NULL, -- the start of a fixed rate that names none
    next_slot       timestamptz,          -- the first slot that is not taken up; NULL while none is coming
    next_fire_at    timestamptz,          -- when it is taken up: the slot and its jitter
    UNIQUE (project, domain, task_name, name)
);
-- What is due, and when to wake up next.
CREATE INDEX triggers_due ON triggers (next_fire_at) WHERE next_fire_at IS NOT NULL;
-- The default order of lists.
CREATE INDEX triggers_listed ON triggers (project, domain, active DESC, updated_at DESC, id DESC) WHERE deleted_at IS NULL;

-- Every revision as it was.
CREATE TABLE trigger_revisions (
    trigger_id   bigint      NOT NULL REFERENCES triggers ON DELETE CASCADE,
    revision     bigint      NOT NULL,
    action       smallint    NOT NULL, -- trigger.TriggerRevisionAction
    active       boolean     NOT NULL,
    automation   bytea       NOT NULL,
    spec         bytea       NOT NULL,
    task_version text        NOT NULL,
    description  text        NOT NULL,
    deployed_by  bytea       NOT NULL,
    updated_by   bytea       NOT NULL,
    deployed_at  timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    triggered_at timestamptz,
    deleted_at   timestamptz,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (trigger_id, revision)
);

-- Slots of the past that must be run.
CREATE TABLE trigger_backfills (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trigger_id bigint      NOT NULL REFERENCES triggers ON DELETE CASCADE,
    from_time  timestamptz NOT NULL,
    until_time timestamptz NOT NULL,
    parallel   integer     NOT NULL,
    cursor     timestamptz NOT NULL, -- every slot before it is taken up
    present    integer     NOT NULL DEFAULT 0, -- slots that had been taken up before
    created_at timestamptz NOT NULL,
    ended_at   timestamptz,
    canceled   boolean     NOT NULL DEFAULT false
);
CREATE INDEX trigger_backfills_working ON trigger_backfills (id) WHERE ended_at IS NULL;
CREATE INDEX trigger_backfills_listed ON trigger_backfills (trigger_id, id DESC);

-- Every slot that was taken up, once.
CREATE TABLE trigger_fires (
    trigger_id  bigint      NOT NULL REFERENCES triggers ON DELETE CASCADE,
    slot        timestamptz NOT NULL,
    revision    bigint      NOT NULL,
    state       smallint    NOT NULL, -- flytebinary.insight.v1.SlotState
    reason      text        NOT NULL DEFAULT '',
    run_name    text        NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    retry_at    timestamptz,          -- of a pending slot: when its run is created
    live        boolean     NOT NULL DEFAULT false, -- its run may be unfinished, and that matters to a policy
    recorded_at timestamptz NOT NULL,
    settled_at  timestamptz,
    backfill_id bigint      REFERENCES trigger_backfills ON DELETE SET NULL,
    PRIMARY KEY (trigger_id, slot)
);
-- The runs to create.
CREATE INDEX trigger_fires_pending ON trigger_fires (retry_at) WHERE retry_at IS NOT NULL;
-- The runs that a policy asks about.
CREATE INDEX trigger_fires_live ON trigger_fires (trigger_id, slot) WHERE live;
CREATE INDEX trigger_fires_backfill ON trigger_fires (backfill_id) WHERE backfill_id IS NOT NULL;
-- What is old.
CREATE INDEX trigger_fires_age ON trigger_fires (recorded_at);

-- The lease of the scheduler; see internal/pgdb.
CREATE TABLE trigger_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE trigger_leases, trigger_fires, trigger_backfills, trigger_revisions, triggers;
