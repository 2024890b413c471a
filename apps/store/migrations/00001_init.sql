-- +goose Up

-- The apps, each at its newest revision.
CREATE TABLE apps (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid             text        NOT NULL UNIQUE, -- tells a repeated name from its predecessor
    project         text        NOT NULL,
    domain          text        NOT NULL,
    name            text        NOT NULL,
    cluster         text        NOT NULL, -- where it runs
    subdomain       text        NOT NULL,
    cname           text,
    revision        bigint      NOT NULL,
    spec            bytea       NOT NULL, -- app.Spec of the newest revision
    desired_state   smallint    NOT NULL, -- app.Spec.DesiredState
    labels          jsonb       NOT NULL,
    code_bundle_uri text        NOT NULL,
    source_code     bytea       NOT NULL, -- task.SourceCode
    created_by      text        NOT NULL, -- the subject of the creator
    foreign_run     boolean     NOT NULL DEFAULT false, -- an operator of its own runs it, and reports with UpdateStatus
    state           bytea       NOT NULL, -- rollout.State
    observed        bytea       NOT NULL DEFAULT '', -- engine.v1.ObservedApp
    observed_at     timestamptz,
    ready           integer     NOT NULL DEFAULT 0, -- replicas that accept requests
    status          smallint    NOT NULL, -- app.Status.DeploymentStatus
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    started_at      timestamptz,
    event_seq       bigint      NOT NULL, -- of the last event
    version         bigint      NOT NULL, -- grows with every change
    run_version     bigint      NOT NULL, -- grows with every change of what should run
    next_at         timestamptz,          -- when the passage of time alone may change something
    UNIQUE (project, domain, name)
);
-- After the key, so that a name that is taken is what an insert hits first.
CREATE UNIQUE INDEX apps_subdomain_key ON apps (subdomain);
CREATE UNIQUE INDEX apps_cname_key ON apps (cname);
CREATE INDEX apps_due ON apps (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX apps_listed ON apps (project, domain, created_at, id);
CREATE INDEX apps_cluster ON apps (cluster, id);

-- Every revision as it was.
CREATE TABLE app_revisions (
    app_id     bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    revision   bigint      NOT NULL,
    spec       bytea       NOT NULL, -- app.Spec
    created_at timestamptz NOT NULL,
    created_by bytea       NOT NULL, -- common.EnrichedIdentity
    reason     text        NOT NULL,
    restores   bigint      NOT NULL,
    state      smallint    NOT NULL, -- insight.v1.AppRevisionState
    message    text        NOT NULL DEFAULT '',
    PRIMARY KEY (app_id, revision)
);

-- The history of an app.
CREATE TABLE app_events (
    app_id     bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    seq        bigint      NOT NULL,
    time       timestamptz NOT NULL,
    revision   bigint      NOT NULL,
    status     smallint    NOT NULL,
    substate   smallint    NOT NULL,
    message    text        NOT NULL,
    actor      bytea, -- common.EnrichedIdentity; NULL for the system
    PRIMARY KEY (app_id, seq)
);

-- The artifacts that the newest revision uses.
CREATE TABLE app_artifacts (
    app_id  bigint NOT NULL REFERENCES apps ON DELETE CASCADE,
    project text   NOT NULL,
    domain  text   NOT NULL,
    name    text   NOT NULL,
    version text   NOT NULL,
    PRIMARY KEY (app_id, project, domain, name, version)
);
CREATE INDEX app_artifacts_used ON app_artifacts (project, domain, name, version);

-- The replicas that are gone and whose log is kept.
CREATE TABLE app_replicas (
    app_id     bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    name       text        NOT NULL,
    revision   bigint      NOT NULL,
    replica    bytea       NOT NULL, -- engine.v1.ObservedReplica
    gone_at    timestamptz NOT NULL,
    PRIMARY KEY (app_id, name)
);

-- The deployers.
CREATE TABLE app_clusters (
    cluster        text        PRIMARY KEY,
    shared_network boolean     NOT NULL,
    seen_at        timestamptz NOT NULL,
    silent         boolean     NOT NULL DEFAULT false
);

-- The latest report of each gateway. A crash of Postgres may lose it: the next reports follow at once.
CREATE UNLOGGED TABLE app_loads (
    app_id      bigint           NOT NULL,
    gateway     text             NOT NULL,
    reported_at timestamptz      NOT NULL,
    concurrency double precision NOT NULL,
    rate        double precision NOT NULL,
    busy        boolean          NOT NULL,
    PRIMARY KEY (app_id, gateway)
);
CREATE INDEX app_loads_age ON app_loads (reported_at);

-- The traffic of apps in periods.
CREATE UNLOGGED TABLE app_traffic (
    app_id      bigint           NOT NULL,
    start       timestamptz      NOT NULL,
    requests    bigint           NOT NULL,
    errors      bigint           NOT NULL,
    concurrency double precision NOT NULL, -- in seconds
    latency     bigint[]         NOT NULL,
    replicas    integer          NOT NULL,
    PRIMARY KEY (app_id, start)
);
CREATE INDEX app_traffic_age ON app_traffic (start);

-- The lease of the autoscaler; see internal/pgdb.
CREATE TABLE app_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE app_leases, app_traffic, app_loads, app_clusters, app_replicas, app_artifacts, app_events, app_revisions, apps;
