-- +goose Up

-- Roles of the installation. The built-in ones are in the program.
CREATE TABLE access_roles (
    name        text        PRIMARY KEY,
    description text        NOT NULL,
    permissions text[]      NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- Who has which role where. An empty project or domain is every one. Those of the configuration are not here.
CREATE TABLE access_bindings (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind       text        NOT NULL,  -- user, group or key
    member     text        NOT NULL,
    role       text        NOT NULL,
    project    text        NOT NULL,
    domain     text        NOT NULL,
    created_by text        NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (kind, member, role, project, domain)
);
CREATE INDEX access_bindings_scope ON access_bindings (project, domain, id);

-- One row: its version grows with each change of roles, bindings, keys and accounts, so that replicas which missed the
-- notification see that there was one.
CREATE TABLE access_policy (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint  NOT NULL
);
INSERT INTO access_policy (version) VALUES (1);

-- API keys of programs. The secret is random, so a plain hash of it is enough.
CREATE TABLE access_keys (
    id           text        PRIMARY KEY,
    name         text        NOT NULL,
    owner        text        NOT NULL,
    hash         bytea       NOT NULL,
    hint         text        NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
CREATE UNIQUE INDEX access_keys_hash ON access_keys (hash);
CREATE INDEX access_keys_owner ON access_keys (owner, created_at DESC, id);

-- Local accounts, for installations without an identity provider.
CREATE TABLE access_accounts (
    name          text        PRIMARY KEY,
    display_name  text        NOT NULL,
    email         text        NOT NULL,
    groups        text[]      NOT NULL,
    password      text        NOT NULL,  -- argon2id in the PHC string format
    failures      int         NOT NULL DEFAULT 0,
    locked_until  timestamptz,
    disabled_at   timestamptz,
    created_at    timestamptz NOT NULL
);

-- Sign-ins of people: of a browser by its cookie, of a client such as the command line by its refresh token. Neither is here,
-- only its hash.
CREATE TABLE access_sessions (
    id         text        PRIMARY KEY,
    token      bytea       NOT NULL UNIQUE,
    client     text        NOT NULL,
    subject    text        NOT NULL,
    person     bytea       NOT NULL,  -- JSON: what the provider said of the person
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX access_sessions_subject ON access_sessions (subject);
CREATE INDEX access_sessions_expiry ON access_sessions (expires_at);

-- What the authorisation server must remember between the steps of a sign-in: requests, codes, device codes and refresh
-- tokens, each by its kind and the hash of its value.
CREATE TABLE access_grants (
    kind       text        NOT NULL,
    id         text        NOT NULL,
    data       bytea       NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (kind, id)
);
CREATE INDEX access_grants_expiry ON access_grants (expires_at);

-- The keys by which this installation signs tokens, by what they sign. The newest of a purpose signs; older ones verify until
-- they retire.
CREATE TABLE access_signing_keys (
    id         text        PRIMARY KEY,
    purpose    text        NOT NULL,
    private    bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    retires_at timestamptz
);
CREATE INDEX access_signing_keys_purpose ON access_signing_keys (purpose, created_at DESC);

-- What was done. Rows are only added, and removed from the oldest end by retention. Each hash covers the row and the hash
-- before it, so that a removed or changed row shows.
CREATE TABLE access_audit (
    sequence   bigint      PRIMARY KEY,
    at         timestamptz NOT NULL,
    kind       text        NOT NULL,
    subject    text        NOT NULL,
    credential text        NOT NULL,
    peer       text        NOT NULL,
    procedure  text        NOT NULL,
    permission text        NOT NULL,
    resources  text[]      NOT NULL,
    project    text        NOT NULL,  -- of the first resource, for search; empty for none
    domain     text        NOT NULL,
    outcome    text        NOT NULL,
    error      text        NOT NULL,
    request_id text        NOT NULL,
    hash       bytea       NOT NULL
);
CREATE INDEX access_audit_at ON access_audit (at DESC);
CREATE INDEX access_audit_subject ON access_audit (subject, sequence DESC);
CREATE INDEX access_audit_place ON access_audit (project, domain, sequence DESC);

-- Changes that are being made, from before they are handled until they end. What a process left here when it died becomes an event
-- with the outcome unknown.
CREATE TABLE access_audit_open (
    id    text        PRIMARY KEY,
    begun timestamptz NOT NULL,
    event jsonb       NOT NULL
);
CREATE INDEX access_audit_open_begun ON access_audit_open (begun);

-- Where the chain begins after retention, and where it ends.
CREATE TABLE access_audit_chain (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    first    bigint  NOT NULL,  -- the number of the oldest row that is kept
    before   bytea   NOT NULL,  -- the hash of the row before it
    last     bigint  NOT NULL,
    hash     bytea   NOT NULL   -- the hash of the last row
);
INSERT INTO access_audit_chain (first, before, last, hash) VALUES (1, '', 0, '');

-- The leases of the loops that collect what has expired; see internal/pg/pgdb.
CREATE TABLE access_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE access_leases, access_audit_chain, access_audit_open, access_audit, access_signing_keys, access_grants, access_sessions, access_accounts, access_keys,
    access_policy, access_bindings, access_roles;
