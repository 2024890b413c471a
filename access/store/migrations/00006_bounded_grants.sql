-- +goose Up

-- Sign-ins that anybody can begin are bounded, by the address that began them. The address is empty for what only a person who has signed in
-- can begin.
ALTER TABLE access_grants ADD COLUMN peer text NOT NULL DEFAULT '', ADD COLUMN begun_at timestamptz NOT NULL DEFAULT 'epoch';

-- +goose Down
ALTER TABLE access_grants DROP COLUMN peer, DROP COLUMN begun_at;
