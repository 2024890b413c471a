-- +goose Up

-- A key may do no more than its owner may now, unless it is that of a service. The groups of the owner are those of their last sign-in.
-- Nothing is known of the owners of keys from before, which stay what they were: those of services.
ALTER TABLE access_keys
    ADD COLUMN service boolean NOT NULL DEFAULT true,
    ADD COLUMN owner_groups text[] NOT NULL DEFAULT '{}',
    ALTER COLUMN service SET DEFAULT false;

-- +goose Down
ALTER TABLE access_keys
    DROP COLUMN owner_groups,
    DROP COLUMN service;
