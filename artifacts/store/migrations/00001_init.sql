-- +goose Up

-- A name with what its versions have in common. Adding or deleting a version locks this row, so that the counters
-- and the newest version are right, and versions of one name have an order.
CREATE TABLE artifact_names (
    id                    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project               text        NOT NULL,
    domain                text        NOT NULL,
    name                  text        NOT NULL,
    org                   text        NOT NULL DEFAULT '',   -- as the first request had it
    has_schema            boolean     NOT NULL DEFAULT false,
    declared              boolean     NOT NULL DEFAULT false, -- by DeclareArtifact; otherwise the first version fixed the keys
    time_key              text        NOT NULL DEFAULT '',   -- empty: no time partition
    granularity           smallint    NOT NULL DEFAULT 0,    -- core.Granularity
    partition_keys        text[]      NOT NULL DEFAULT '{}',
    versions              bigint      NOT NULL DEFAULT 0,
    latest_id             bigint,                            -- the newest version
    latest_at             timestamptz,                       -- its time
    latest_time_partition timestamptz,
    UNIQUE (project, domain, name)
);
CREATE INDEX artifact_names_activity ON artifact_names (project, domain, latest_at, id) WHERE versions > 0;

-- One row for each version. The spec has everything; the other columns are what lists look for.
CREATE TABLE artifact_versions (
    id                  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name_id             bigint      NOT NULL REFERENCES artifact_names (id),
    project             text        NOT NULL,
    domain              text        NOT NULL,
    name                text        NOT NULL,
    version             text        NOT NULL,
    org                 text        NOT NULL DEFAULT '',
    created_at          timestamptz NOT NULL,                -- increases within a name
    created_by          bytea,                               -- common.EnrichedIdentity
    spec                bytea       NOT NULL,                -- artifact.ArtifactSpec
    mismatch            bytea,                               -- artifact.PartitionSchemaMismatch
    partition           bytea       NOT NULL,                -- digest of all partition values
    partitions          bytea,                               -- core.Partitions
    newest              boolean     NOT NULL,                -- of its name and partition
    time_partition      timestamptz,
    source_run          text        NOT NULL DEFAULT '',
    source_action       text        NOT NULL DEFAULT '',
    source_external_ref text        NOT NULL DEFAULT '',
    UNIQUE (project, domain, name, version)
);
CREATE INDEX artifact_versions_created   ON artifact_versions (project, domain, created_at, id);
CREATE INDEX artifact_versions_name      ON artifact_versions (name_id, created_at, id);
CREATE INDEX artifact_versions_partition ON artifact_versions (name_id, partition, created_at, id);
CREATE INDEX artifact_versions_newest    ON artifact_versions (name_id, created_at, id)                            WHERE newest;
CREATE INDEX artifact_versions_time      ON artifact_versions (name_id, time_partition, created_at, id)            WHERE time_partition IS NOT NULL;
CREATE INDEX artifact_versions_run       ON artifact_versions (project, domain, source_run, created_at, id)        WHERE source_run <> '';
CREATE INDEX artifact_versions_external  ON artifact_versions (project, domain, source_external_ref, created_at, id) WHERE source_external_ref <> '';

-- The partition values and the metadata of versions, for filters. Both indexes end in the order of lists, so that a
-- filter by one value reads its page and nothing else, however rare the value is.
CREATE TABLE artifact_labels (
    version_id bigint      NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE,
    kind       smallint    NOT NULL,
    key        text        NOT NULL,
    value      text        NOT NULL,
    project    text        NOT NULL,
    domain     text        NOT NULL,
    name_id    bigint      NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (version_id, kind, key)
);
CREATE INDEX artifact_labels_place ON artifact_labels (project, domain, kind, key, value, created_at, version_id);
CREATE INDEX artifact_labels_name  ON artifact_labels (name_id, kind, key, value, created_at, version_id);

-- The versions from which a version was derived. They need not exist.
CREATE TABLE artifact_parents (
    version_id bigint   NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE,
    position   smallint NOT NULL,
    project    text     NOT NULL,
    domain     text     NOT NULL,
    name       text     NOT NULL,
    version    text     NOT NULL,
    PRIMARY KEY (version_id, position)
);
CREATE INDEX artifact_parents_parent ON artifact_parents (project, domain, name, version, version_id);

-- The objects in the store that a version points to. Retention keeps the runs in whose directories they lie.
CREATE TABLE artifact_data (
    uri        text   NOT NULL,
    version_id bigint NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE
);
CREATE INDEX artifact_data_uri     ON artifact_data (uri text_pattern_ops);
CREATE INDEX artifact_data_version ON artifact_data (version_id);

-- One row for each version that was created, written with it, until the consumer of new versions has taken it.
CREATE TABLE artifact_events (
    seq        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version_id bigint      NOT NULL REFERENCES artifact_versions (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL
);
CREATE INDEX artifact_events_version ON artifact_events (version_id);
CREATE INDEX artifact_events_age     ON artifact_events (created_at);

-- The lease of the loop that deletes old events; see internal/pgdb.
CREATE TABLE artifact_leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE artifact_leases, artifact_events, artifact_data, artifact_parents, artifact_labels, artifact_versions, artifact_names;
