-- +goose Up

-- What the object store holds of each project, by whose it is: who created the run, or uploaded the object. The caller is empty for what
-- is no caller's, such as the data of runs that tasks created. The callers of a project add up to its row in stored.
CREATE TABLE stored_callers (
    project    text   NOT NULL,
    caller     text   NOT NULL,
    bytes      bigint NOT NULL DEFAULT 0,  -- these as in stored
    added      bigint NOT NULL DEFAULT 0,
    seen_bytes bigint NOT NULL DEFAULT 0,
    seen_added bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (project, caller)
);
CREATE INDEX stored_callers_caller ON stored_callers (caller) WHERE caller <> '';

-- Who asked first to upload an object.
CREATE TABLE stored_uploads (
    project text        NOT NULL,
    digest  bytea       NOT NULL,  -- MD5 of its URI
    caller  text        NOT NULL,
    seen_at timestamptz NOT NULL,  -- when it was asked for, or when a listing found it, to within a day
    PRIMARY KEY (project, digest)
);

-- +goose Down
DROP TABLE stored_uploads;
DROP TABLE stored_callers;
