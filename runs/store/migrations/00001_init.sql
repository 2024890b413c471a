-- +goose Up

-- Projects. Domains are configuration.
CREATE TABLE projects (
    id          text        PRIMARY KEY,
    name        text        NOT NULL,
    description text        NOT NULL DEFAULT '',
    labels      jsonb       NOT NULL DEFAULT '{}',
    state       smallint    NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- Immutable messages, stored once each: task specs, trace specs, condition specs, run specs. The digest is
-- SHA-256 over the kind and the deterministic encoding.
CREATE TABLE specs (
    digest bytea    PRIMARY KEY,
    kind   smallint NOT NULL,
    body   bytea    NOT NULL
);

CREATE SEQUENCE actions_id_seq CACHE 1;

-- One row for each action; runs are the rows without a parent. A row is the projection of its events and is
-- written in the same transaction as they are, under the lock of the run's root row.
CREATE TABLE actions (
    id                 bigint      PRIMARY KEY,
    run_id             bigint      NOT NULL,             -- id of the root row; its own id for a root
    project            text        NOT NULL,
    domain             text        NOT NULL,
    run_name           text        NOT NULL,
    name               text        NOT NULL,
    parent_name        text,                             -- NULL for a root
    action_type        smallint    NOT NULL,             -- workflow.ActionType
    action_group       text        NOT NULL DEFAULT '',

    -- The state machine (runs/state). (attempt, rank of phase, version) only ever advances.
    phase              smallint    NOT NULL,             -- common.ActionPhase
    attempt            integer     NOT NULL DEFAULT 1,
    version            integer     NOT NULL DEFAULT 0,
    cache_status       smallint    NOT NULL DEFAULT 0,
    admitted_at        timestamptz,                      -- when it may have a TaskAction; NULL while queued
    last_seq           bigint      NOT NULL DEFAULT 0,   -- root: last event of the run; child: its own last event

    -- What it runs and where its data lie.
    task_project       text        NOT NULL DEFAULT '',
    task_domain        text        NOT NULL DEFAULT '',
    task_name          text        NOT NULL DEFAULT '',  -- trace and condition: their name
    task_version       text        NOT NULL DEFAULT '',
    task_type          text        NOT NULL DEFAULT '',
    short_name         text        NOT NULL DEFAULT '',
    function_name      text        NOT NULL DEFAULT '',
    environment_name   text        NOT NULL DEFAULT '',
    spec_digest        bytea,                            -- into specs
    input_uri          text        NOT NULL DEFAULT '',
    output_uri         text        NOT NULL DEFAULT '',  -- task: attempt directory; trace: outputs.pb itself
    report_uri         text        NOT NULL DEFAULT '',
    cache_key          text        NOT NULL DEFAULT '',
    queue              text        NOT NULL DEFAULT '',

    -- How it ended.
    error              bytea,                            -- core.ExecutionError
    abort_reason       text        NOT NULL DEFAULT '',
    aborted_by         bytea,                            -- common.EnrichedIdentity
    signal             bytea,                            -- workflow.SignalInfo
    recovered_from     bytea,                            -- common.ActionIdentifier

    -- Who and when. Times are UTC, microseconds.
    created_by         bytea,                            -- common.EnrichedIdentity
    created_by_subject text        NOT NULL DEFAULT '',
    created_at         timestamptz NOT NULL,
    started_at         timestamptz,                      -- first RUNNING
    ended_at           timestamptz,
    updated_at         timestamptz NOT NULL,

    -- Only on roots.
    source             smallint    NOT NULL DEFAULT 0,   -- workflow.RunSource
    run_spec_digest    bytea,
    request_digest     bytea,                            -- of the CreateRun request, for idempotency
    run_output_base    text        NOT NULL DEFAULT '',
    run_start_time     timestamptz,
    labels             jsonb       NOT NULL DEFAULT '{}',
    max_concurrency    integer     NOT NULL DEFAULT 0,   -- 0: no limit
    relation           bytea,                            -- common.Relation
    trigger_name       text        NOT NULL DEFAULT '',
    trigger_task_name  text        NOT NULL DEFAULT '',
    trigger_revision   bigint      NOT NULL DEFAULT 0,
    paused_count       integer     NOT NULL DEFAULT 0,   -- actions of the run in phase PAUSED

    UNIQUE (run_id, name)
) WITH (fillfactor = 85);

-- Roots: by name, and one index for each order that clients ask for. All end in id, the tie-break of page tokens.
CREATE UNIQUE INDEX actions_root_name    ON actions (project, domain, run_name)                            WHERE parent_name IS NULL;
CREATE INDEX actions_root_created        ON actions (created_at, id)                                       WHERE parent_name IS NULL;
CREATE INDEX actions_root_scope_created  ON actions (project, domain, created_at, id)                      WHERE parent_name IS NULL;
CREATE INDEX actions_root_scope_updated  ON actions (project, domain, updated_at, id)                      WHERE parent_name IS NULL;
CREATE INDEX actions_root_scope_phase    ON actions (project, domain, phase, created_at, id)               WHERE parent_name IS NULL;
CREATE INDEX actions_root_scope_task     ON actions (project, domain, task_name, created_at, id)           WHERE parent_name IS NULL;
CREATE INDEX actions_root_scope_version  ON actions (project, domain, task_version, created_at, id)        WHERE parent_name IS NULL;
CREATE INDEX actions_root_scope_owner    ON actions (project, domain, created_by_subject, created_at, id)  WHERE parent_name IS NULL;
CREATE INDEX actions_root_labels         ON actions USING gin (labels)                                     WHERE parent_name IS NULL;
CREATE INDEX actions_root_paused         ON actions (project, domain, created_at, id)                      WHERE parent_name IS NULL AND paused_count > 0;

-- Actions of one run: listing order, and children of one parent.
CREATE INDEX actions_run_created         ON actions (run_id, created_at, id);
CREATE INDEX actions_run_conditions      ON actions (run_id, created_at, id)                                        WHERE action_type = 3;
CREATE INDEX actions_run_parent          ON actions (run_id, parent_name, id)                              WHERE parent_name IS NOT NULL;

-- The queue: task actions that wait for admission. The live set: those admitted and unfinished.
CREATE INDEX actions_queue               ON actions (run_id, id) WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL;
CREATE INDEX actions_live                ON actions (run_id, id) WHERE admitted_at IS NOT NULL AND ended_at IS NULL;
-- What an abort must stop, by parent; and whether a parent waits for children.
CREATE INDEX actions_unfinished          ON actions (run_id, parent_name) WHERE ended_at IS NULL;

-- The ordered log. seq counts from 1 within a run, in commit order.
CREATE TABLE action_events (
    run_id      bigint      NOT NULL,
    seq         bigint      NOT NULL,
    action_id   bigint      NOT NULL,
    attempt     integer     NOT NULL,
    phase       smallint    NOT NULL,
    version     integer     NOT NULL,
    recorded_at timestamptz NOT NULL,
    event       bytea,                                   -- workflow.ActionEvent; NULL for changes that no executor reported
    error       bytea,                                   -- core.ExecutionError of a failed attempt
    PRIMARY KEY (run_id, seq)
);
CREATE INDEX action_events_action ON action_events (action_id, seq);

-- Deployed tasks. A version is immutable.
CREATE TABLE tasks (
    id                bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project           text        NOT NULL,
    domain            text        NOT NULL,
    name              text        NOT NULL,
    version           text        NOT NULL,
    is_latest         boolean     NOT NULL DEFAULT true,
    environment_name  text        NOT NULL DEFAULT '',
    function_name     text        NOT NULL DEFAULT '',
    short_name        text        NOT NULL DEFAULT '',
    task_type         text        NOT NULL DEFAULT '',
    is_entrypoint     boolean     NOT NULL DEFAULT false,
    short_description text        NOT NULL DEFAULT '',
    env_description   text        NOT NULL DEFAULT '',
    spec_digest       bytea       NOT NULL,
    deployed_by       bytea,
    deployed_by_subject text      NOT NULL DEFAULT '',
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    UNIQUE (project, domain, name, version)
);
CREATE UNIQUE INDEX tasks_latest         ON tasks (project, domain, name)             WHERE is_latest;
CREATE INDEX tasks_latest_created        ON tasks (project, domain, created_at, id)   WHERE is_latest;
CREATE INDEX tasks_versions              ON tasks (project, domain, name, created_at, id);

-- Leases of the background loops: whoever holds an unexpired row runs the loop.
CREATE TABLE leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE leases, tasks, action_events, actions, specs, projects;
DROP SEQUENCE actions_id_seq;
