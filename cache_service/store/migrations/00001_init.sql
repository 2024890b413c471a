-- +goose Up

-- What tasks have computed. Scopes are columns of their own: an entry without project and domain is global.
CREATE TABLE cache_outputs (
    project    text        NOT NULL,
    domain     text        NOT NULL,
    key        text        NOT NULL,
    output_uri text        NOT NULL,
    metadata   bytea,                 -- cacheservice.Metadata, without its times
    created_at timestamptz NOT NULL,  -- when the key was first filled
    updated_at timestamptz NOT NULL,  -- when these outputs were put
    PRIMARY KEY (project, domain, key)
);
CREATE INDEX cache_outputs_age ON cache_outputs (updated_at);

-- Who computes the outputs of a key, for tasks of which only one is to run at a time.
CREATE TABLE cache_reservations (
    project    text        NOT NULL,
    domain     text        NOT NULL,
    key        text        NOT NULL,
    owner      text        NOT NULL,
    heartbeat  interval    NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (project, domain, key)
);
CREATE INDEX cache_reservations_expiry ON cache_reservations (expires_at);

-- The lease of the loop that collects what has expired; see internal/pgdb.
CREATE TABLE cache_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE cache_leases, cache_reservations, cache_outputs;
