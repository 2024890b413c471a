-- +goose Up

-- Ranges of the event log that a sink of published events has not been sent yet. The transaction that appends the events
-- writes one row for each run and sink; ids of one run grow in the order of its events, since its root row is locked. A row
-- goes when the sink has its events.
CREATE TABLE event_backlog (
    sink      text        NOT NULL,
    id        bigint      GENERATED ALWAYS AS IDENTITY,
    run_id    bigint      NOT NULL,
    first_seq bigint      NOT NULL,
    last_seq  bigint      NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (sink, id)
);

-- +goose Down
DROP TABLE event_backlog;
