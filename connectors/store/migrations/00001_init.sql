-- +goose Up

-- The connectors, and what they say about themselves.
CREATE TABLE connectors (
    name        text        PRIMARY KEY,
    rank        integer     NOT NULL, -- of two that serve a type, the lower one gets its tasks
    answered_at timestamptz,          -- when it last said what it serves; null for never
    problem     text        NOT NULL DEFAULT '' -- why it did not answer; empty if it did
);

CREATE TABLE connector_types (
    connector text    NOT NULL REFERENCES connectors ON DELETE CASCADE,
    task_type text    NOT NULL,
    version   integer NOT NULL, -- 0 takes all that have no other connector
    PRIMARY KEY (task_type, version, connector)
);

-- The live actions that connectors run.
CREATE TABLE connector_jobs (
    uid             bigint      PRIMARY KEY,
    connector       text        NOT NULL, -- empty while none serves its type
    task_type       text        NOT NULL,
    type_version    integer     NOT NULL,
    project         text        NOT NULL,
    domain          text        NOT NULL,
    run             text        NOT NULL,
    name            text        NOT NULL,
    priority        integer     NOT NULL,
    attempt         integer     NOT NULL,
    user_failures   integer     NOT NULL,
    system_failures integer     NOT NULL,
    stage           smallint    NOT NULL DEFAULT 0, -- store.Stage
    stop            smallint    NOT NULL DEFAULT 0, -- store.Stop
    stopped_at      timestamptz,
    due_at          timestamptz NOT NULL DEFAULT clock_timestamp(), -- when to do something about it
    failures        integer     NOT NULL DEFAULT 0, -- calls in a row that failed; negative if they did not reach the connector
    problem         text        NOT NULL DEFAULT '', -- of the last of them
    secrets         jsonb       NOT NULL DEFAULT '{}', -- the names of secrets, by the names that the connector gives them
    meta            bytea,       -- by which the connector knows the job
    begun_at        timestamptz, -- when the job was requested
    running_at      timestamptz, -- when it was first seen to run
    run_until       timestamptz, -- when that exceeds its time limit
    phase           smallint    NOT NULL DEFAULT 0, -- that was reported last
    version         integer     NOT NULL DEFAULT 0, -- of the report within the phase
    told            bytea       NOT NULL DEFAULT '' -- SHA-256 of what was reported last
);
CREATE INDEX connector_jobs_due ON connector_jobs (connector, due_at) WHERE stage > 0;
CREATE INDEX connector_jobs_waiting ON connector_jobs (connector, (-priority), uid) WHERE stage = 0;

CREATE TABLE connector_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE connector_leases, connector_jobs, connector_types, connectors;
