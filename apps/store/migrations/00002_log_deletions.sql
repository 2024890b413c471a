-- +goose Up

-- Stored logs that are to be deleted: of a replica that is forgotten, or with an empty replica, of a deleted app.
CREATE TABLE app_log_deletions (
    project    text        NOT NULL,
    domain     text        NOT NULL,
    uid        text        NOT NULL, -- of the app
    replica    text        NOT NULL,
    created_at timestamptz NOT NULL,
    due_at     timestamptz NOT NULL,
    PRIMARY KEY (project, domain, uid, replica)
);
CREATE INDEX app_log_deletions_due ON app_log_deletions (due_at);

-- +goose Down
DROP TABLE app_log_deletions;
