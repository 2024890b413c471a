-- +goose Up

-- Who is asked to answer a condition.
CREATE TABLE condition_assignees (
    action_id   bigint      PRIMARY KEY REFERENCES actions (id) ON DELETE CASCADE,
    subject     text        NOT NULL,
    name        text        NOT NULL,   -- as it was known then
    email       text        NOT NULL,
    assigned_by text        NOT NULL,   -- a subject
    assigned_at timestamptz NOT NULL
);
CREATE INDEX condition_assignees_subject ON condition_assignees (subject);

-- +goose Down
DROP TABLE condition_assignees;
