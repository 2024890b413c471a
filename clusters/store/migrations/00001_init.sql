-- +goose Up

-- The clusters that may run work of the installation.
CREATE TABLE clusters (
    name       text        PRIMARY KEY,
    created_by text        NOT NULL,
    created_at timestamptz NOT NULL
);

-- The credentials of their controllers. A secret is random, so a plain hash of it is enough.
CREATE TABLE cluster_credentials (
    id           text        PRIMARY KEY,
    cluster      text        NOT NULL REFERENCES clusters ON DELETE CASCADE,
    hash         bytea       NOT NULL UNIQUE,
    hint         text        NOT NULL,
    created_by   text        NOT NULL,
    created_at   timestamptz NOT NULL,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
CREATE INDEX cluster_credentials_cluster ON cluster_credentials (cluster, created_at, id);

-- +goose Down
DROP TABLE cluster_credentials;
DROP TABLE clusters;
