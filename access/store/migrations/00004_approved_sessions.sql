-- +goose Up

-- The session of the browser in which a person let a client sign in: it ends the session of the client with it. Empty for browsers, and for
-- clients that signed in before this column.
ALTER TABLE access_sessions ADD COLUMN approved_by text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE access_sessions DROP COLUMN approved_by;
