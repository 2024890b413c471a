-- +goose Up

-- Conditions that wait for a person, across runs, in the order in which they began to wait.
CREATE INDEX actions_paused       ON actions (created_at, id)                  WHERE phase = 9 AND action_type = 3;
CREATE INDEX actions_scope_paused ON actions (project, domain, created_at, id) WHERE phase = 9 AND action_type = 3;

-- +goose Down
DROP INDEX actions_scope_paused, actions_paused;
