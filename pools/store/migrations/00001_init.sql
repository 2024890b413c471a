-- +goose Up

-- What actions of reusable environments share.
CREATE TABLE worker_pools (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster       text        NOT NULL,
    project       text        NOT NULL,
    domain        text        NOT NULL,
    name          text        NOT NULL, -- of the environment
    version       text        NOT NULL, -- of the environment
    run           text        NOT NULL, -- empty where runs share workers
    min_replicas  integer     NOT NULL,
    max_replicas  integer     NOT NULL,
    concurrency   integer     NOT NULL, -- of one worker
    idle_ttl      interval    NOT NULL,
    scaledown_ttl interval    NOT NULL,
    template      bytea       NOT NULL, -- engine.v1.Assignment of the first action
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    worked_at     timestamptz NOT NULL DEFAULT clock_timestamp(), -- when it last had an action
    failures      integer     NOT NULL DEFAULT 0, -- workers in a row that ended before they could work
    retry_at      timestamptz,                    -- no new worker before
    problem       text        NOT NULL DEFAULT '', -- why its workers do not run
    UNIQUE (cluster, project, domain, name, version, run)
);

-- The processes that run actions.
CREATE TABLE pool_workers (
    id          text        PRIMARY KEY,
    pool_id     bigint      NOT NULL REFERENCES worker_pools ON DELETE CASCADE,
    state       smallint    NOT NULL, -- store.WorkerState
    token_hash  bytea       NOT NULL DEFAULT '', -- SHA-256
    incarnation text        NOT NULL DEFAULT '', -- of its process; empty until it has connected
    session     text        NOT NULL DEFAULT '', -- the stream that may give it work
    version     text        NOT NULL DEFAULT '',
    slots       integer     NOT NULL DEFAULT 0,
    lease_until timestamptz, -- nobody else may run its attempts before
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    idle_since  timestamptz NOT NULL DEFAULT clock_timestamp(),
    gone_at     timestamptz,
    reason      text        NOT NULL DEFAULT '' -- why it does not run
);
CREATE INDEX pool_workers_pool ON pool_workers (pool_id);

-- The live actions that workers run.
CREATE TABLE pool_actions (
    uid             bigint      PRIMARY KEY,
    pool_id         bigint      NOT NULL REFERENCES worker_pools,
    project         text        NOT NULL,
    domain          text        NOT NULL,
    run             text        NOT NULL,
    name            text        NOT NULL,
    ancestors       text[]      NOT NULL, -- its parent first
    nested          boolean     NOT NULL, -- an ancestor holds a slot of the pool
    priority        integer     NOT NULL,
    queued_at       timestamptz NOT NULL,
    attempt         integer     NOT NULL,
    user_failures   integer     NOT NULL,
    system_failures integer     NOT NULL,
    not_before      timestamptz, -- when the attempt may begin
    worker_id       text,        -- who has the attempt; null while it waits
    begun_at        timestamptz, -- when its process began
    run_until       timestamptz, -- when that exceeds its time limit
    warm            boolean     NOT NULL DEFAULT false,
    stop            smallint    NOT NULL DEFAULT 0, -- store.Stop
    stop_at         timestamptz
);
CREATE INDEX pool_actions_waiting ON pool_actions (pool_id, nested DESC, priority DESC, queued_at, uid) WHERE worker_id IS NULL;
CREATE INDEX pool_actions_held ON pool_actions (worker_id) WHERE worker_id IS NOT NULL;

CREATE TABLE worker_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE worker_leases, pool_actions, pool_workers, worker_pools;
