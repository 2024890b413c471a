-- +goose Up

-- The runs and tasks that people have marked, each person by the subject.
CREATE TABLE stars (
    subject    text        NOT NULL,
    project    text        NOT NULL,
    domain     text        NOT NULL,
    kind       smallint    NOT NULL,   -- stars.Kind
    name       text        NOT NULL,   -- of the run or the task
    created_at timestamptz NOT NULL,
    PRIMARY KEY (subject, project, domain, kind, name)
);

-- +goose Down
DROP TABLE stars;
