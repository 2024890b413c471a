-- +goose Up

-- What controllers say about their clusters, a row for each replica of a controller. Amounts are those of states.Resources.
CREATE TABLE cluster_states (
    cluster      text        NOT NULL REFERENCES clusters ON DELETE CASCADE,
    instance     text        NOT NULL, -- of the controller's process
    link         text        NOT NULL, -- of its stream
    replica      text        NOT NULL, -- of the API that holds the stream
    version      text        NOT NULL,
    policy       text        NOT NULL, -- a digest of the policy of its pods
    plugins      text[]      NOT NULL,
    task_types   text[]      NOT NULL,
    accelerators text[]      NOT NULL,
    labels       jsonb       NOT NULL,
    capacity     jsonb       NOT NULL,
    free         jsonb       NOT NULL,
    largest      jsonb       NOT NULL,
    connected_at timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL,
    PRIMARY KEY (cluster, instance)
);

-- Logs of running pods on their way from a controller to the replica of the API that was asked for them. What is here is worthless
-- once the reader is gone, so it is not worth a place in the write-ahead log.
CREATE UNLOGGED TABLE cluster_tails (
    id         text        PRIMARY KEY,
    cluster    text        NOT NULL,
    touched_at timestamptz NOT NULL
);
CREATE UNLOGGED TABLE cluster_tail_batches (
    tail     text   NOT NULL REFERENCES cluster_tails ON DELETE CASCADE,
    sequence bigint NOT NULL,
    body     bytea  NOT NULL,
    PRIMARY KEY (tail, sequence)
);

-- What operators say about a cluster. created_by is empty for one that registered itself.
ALTER TABLE clusters
    ADD COLUMN state      text        NOT NULL DEFAULT 'ready', -- ready, cordoned or draining
    ADD COLUMN state_by   text        NOT NULL DEFAULT '', -- the subject that set the state; empty for the default
    ADD COLUMN state_at   timestamptz,
    ADD COLUMN state_note text        NOT NULL DEFAULT '',
    ADD COLUMN weight     integer     NOT NULL DEFAULT 1,
    ADD COLUMN pools      text[]      NOT NULL DEFAULT '{}', -- the cluster pools that it belongs to
    ADD COLUMN labels     jsonb       NOT NULL DEFAULT '{}'; -- they win over those that its controller reports

-- +goose Down
DROP TABLE cluster_tail_batches;
DROP TABLE cluster_tails;
DROP TABLE cluster_states;
ALTER TABLE clusters DROP COLUMN state, DROP COLUMN state_by, DROP COLUMN state_at, DROP COLUMN state_note, DROP COLUMN weight,
    DROP COLUMN pools, DROP COLUMN labels;
