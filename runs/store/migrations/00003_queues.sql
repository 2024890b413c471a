-- +goose Up

-- The queue, in the order in which queues are served: those of each run together, roots apart, since a run that has not
-- begun waits for other limits than one that has.
DROP INDEX actions_queue;
CREATE INDEX actions_queue ON actions (queue, runner, (-priority), run_id, id)
    WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0 AND parent_name IS NOT NULL;
CREATE INDEX actions_queue_roots ON actions (queue, runner, (-priority), id)
    WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0 AND parent_name IS NULL;

-- How much waits in a queue without being admissible yet, and what is under way in a queue that has a name.
CREATE INDEX actions_held_queue ON actions (queue) WHERE hold <> 0 AND ended_at IS NULL;
CREATE INDEX actions_live_queue ON actions (queue, run_id, id) WHERE admitted_at IS NOT NULL AND ended_at IS NULL AND queue <> '';

-- +goose Down
DROP INDEX actions_live_queue, actions_held_queue, actions_queue_roots, actions_queue;
CREATE INDEX actions_queue ON actions (run_id, id) WHERE action_type = 1 AND phase = 1 AND admitted_at IS NULL AND hold = 0;
