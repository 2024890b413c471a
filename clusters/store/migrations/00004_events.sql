-- +goose Up

-- What happened to clusters, for people. The latest of each are kept.
CREATE TABLE cluster_events (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster text        NOT NULL REFERENCES clusters ON DELETE CASCADE,
    kind    text        NOT NULL, -- one of store.EventKind
    at      timestamptz NOT NULL,
    subject text        NOT NULL, -- of who did it; empty if no one did
    note    text        NOT NULL
);
CREATE INDEX cluster_events_cluster ON cluster_events (cluster, id);

-- +goose Down
DROP TABLE cluster_events;
