-- +goose Up

-- Up to which audit event each sink of the event stream has been sent them.
CREATE TABLE access_audit_sinks (
    sink     text   PRIMARY KEY,
    position bigint NOT NULL
);

-- The program that made the call, in its own words; empty in events from before this column.
ALTER TABLE access_audit ADD COLUMN user_agent text NOT NULL DEFAULT '';

-- +goose Down
DROP TABLE access_audit_sinks;
ALTER TABLE access_audit DROP COLUMN user_agent;
