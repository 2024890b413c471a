-- +goose Up

-- The policy of its pods, as the controller reports it in JSON; empty for one that does not.
ALTER TABLE cluster_states ADD COLUMN pod_policy text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE cluster_states DROP COLUMN pod_policy;
