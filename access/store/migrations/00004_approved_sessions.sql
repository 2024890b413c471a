-- +goose Up

-- The session of the browser in which a person let a client sign in: it ends the session of the client with it. Empty for browsers, and for
-- clients that signed in before this column.
ALTER TABLE access_sessions ADD COLUMN approved_by text NOT NULL DEFAULT '';
CREATE INDEX access_sessions_approved_by ON access_sessions (approved_by) WHERE approved_by <> '';

-- +goose Down
DROP INDEX access_sessions_approved_by;
ALTER TABLE access_sessions DROP COLUMN approved_by;
