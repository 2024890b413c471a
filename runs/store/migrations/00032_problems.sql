-- +goose Up

-- Failed task actions that are not counted yet. The transaction that ends the action writes the row.
CREATE TABLE uncounted_failures (
    action_id bigint PRIMARY KEY REFERENCES actions (id) ON DELETE CASCADE
);

-- Failures of one cause, over the runs of a place.
CREATE TABLE problems (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project    text        NOT NULL,
    domain     text        NOT NULL,
    code       text        NOT NULL,
    message    text        NOT NULL,             -- the first line of the latest, for people
    file       text        NOT NULL DEFAULT '',  -- where the task's own code raised it; empty while unknown
    function   text        NOT NULL DEFAULT '',
    failures   bigint      NOT NULL,             -- with those deleted since
    runs       bigint      NOT NULL,
    tasks      text[]      NOT NULL,             -- the first that failed so
    first_seen timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL,
    run_name   text        NOT NULL,             -- of the latest failure
    name       text        NOT NULL
);
CREATE INDEX problems_last_seen  ON problems (project, domain, last_seen, id);
CREATE INDEX problems_first_seen ON problems (project, domain, first_seen, id);
CREATE INDEX problems_failures   ON problems (project, domain, failures, id);
CREATE INDEX problems_frame      ON problems (project, domain, code, function, file) WHERE file <> '';

-- What failures of a problem are recognized by when they are counted. Several signs may be of one problem: different
-- messages of one exception at one place of the code.
CREATE TABLE problem_signs (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    problem_id bigint      NOT NULL REFERENCES problems (id) ON DELETE CASCADE,
    project    text        NOT NULL,
    domain     text        NOT NULL,
    digest     bytea       NOT NULL,             -- of the task, the code and the message without what varies
    sample     bigint      NOT NULL,             -- the id of an action whose log has the traceback
    tries      integer     NOT NULL DEFAULT 0,
    next_at    timestamptz,                      -- when its log is to be read; NULL when that is done
    UNIQUE (project, domain, digest)
);
CREATE INDEX problem_signs_problem ON problem_signs (problem_id);
CREATE INDEX problem_signs_next    ON problem_signs (next_at, id) WHERE next_at IS NOT NULL;

CREATE TABLE problem_failures (
    action_id  bigint      PRIMARY KEY REFERENCES actions (id) ON DELETE CASCADE,
    run_id     bigint      NOT NULL,
    problem_id bigint      NOT NULL REFERENCES problems (id) ON DELETE CASCADE,
    failed_at  timestamptz NOT NULL
);
CREATE INDEX problem_failures_latest ON problem_failures (problem_id, failed_at, action_id);
CREATE INDEX problem_failures_run    ON problem_failures (problem_id, run_id);

-- +goose Down
DROP TABLE problem_failures, problem_signs, problems, uncounted_failures;
