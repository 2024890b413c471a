-- +goose Up

-- Logs of jobs that have ended, until they are stored: the end of a job does not wait for its log.
CREATE TABLE connector_logs (
    uid          bigint      NOT NULL,
    attempt      integer     NOT NULL,
    connector    text        NOT NULL,
    task_type    text        NOT NULL,
    type_version integer     NOT NULL,
    project      text        NOT NULL,
    domain       text        NOT NULL,
    run          text        NOT NULL,
    name         text        NOT NULL,
    secrets      jsonb       NOT NULL,
    dir          text        NOT NULL,
    meta         bytea       NOT NULL,
    ended_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures     integer     NOT NULL DEFAULT 0, -- times in a row that it could not be read to its end
    PRIMARY KEY (uid, attempt)
);
CREATE INDEX connector_logs_due ON connector_logs (connector, due_at);

-- +goose Down
DROP TABLE connector_logs;
