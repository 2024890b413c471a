-- +goose Up

-- One notification to one receiver. It has all that its tries need, since its run may be deleted meanwhile.
CREATE TABLE notification_deliveries (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key         text        NOT NULL UNIQUE,             -- the id that the receiver gets, the same at every try
    source      bigint      NOT NULL,                    -- the entry of the runs service's outbox, and
    part        integer     NOT NULL,                    -- which of its deliveries this is
    run_id      bigint      NOT NULL,
    project     text        NOT NULL,
    domain      text        NOT NULL,
    run_name    text        NOT NULL,
    action      text        NOT NULL,
    phase       smallint    NOT NULL,                    -- common.ActionPhase
    rule        text        NOT NULL DEFAULT '',         -- of the configuration
    delivery    text        NOT NULL DEFAULT '',         -- of the configuration
    kind        smallint    NOT NULL,                    -- insight.v1.DeliveryKind
    target      text        NOT NULL DEFAULT '',         -- what may be shown of the receiver
    recipient   text        NOT NULL DEFAULT '',         -- the address that this e-mail is for
    lane        text        NOT NULL,                    -- deliveries of a lane share its places
    template    bytea,                                   -- notification.DeliveryConfigTemplate; NULL for one of the configuration
    data        jsonb       NOT NULL,                    -- what templates can say
    state       smallint    NOT NULL DEFAULT 1,          -- insight.v1.DeliveryState
    tries       integer     NOT NULL DEFAULT 0,
    next_at     timestamptz NOT NULL,                    -- when it may be tried; while it is, when another try may begin
    last_error  text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    UNIQUE (source, part)
);
CREATE INDEX notification_deliveries_due   ON notification_deliveries (next_at, id) INCLUDE (lane)                WHERE state = 1;
CREATE INDEX notification_deliveries_ended ON notification_deliveries (state, ended_at)                           WHERE state <> 1;
CREATE INDEX notification_deliveries_all   ON notification_deliveries (created_at, id);
CREATE INDEX notification_deliveries_state ON notification_deliveries (state, created_at, id);
CREATE INDEX notification_deliveries_run   ON notification_deliveries (project, domain, run_name, created_at, id);
CREATE INDEX notification_deliveries_place ON notification_deliveries (project, domain, state, created_at, id);

-- The lease of the loop that reads the outbox; see internal/pgdb.
CREATE TABLE notification_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE notification_leases, notification_deliveries;
