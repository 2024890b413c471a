-- +goose Up

-- What clients of StateService store for an action: few actions have one, so it is no column of actions. Rows go with
-- their action.
CREATE TABLE action_states (
    action_id  bigint      PRIMARY KEY REFERENCES actions (id) ON DELETE CASCADE,
    state      text        NOT NULL,
    updated_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE action_states;
