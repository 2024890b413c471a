-- +goose Up

-- What was created in a span of time, and where, without reading the rows. It still has the order of lists.
DROP INDEX actions_root_created;
CREATE INDEX actions_root_created ON actions (created_at, id) INCLUDE (project, domain, phase) WHERE parent_name IS NULL;

-- Which runs are under way, and which of them wait for a person.
CREATE INDEX actions_root_unfinished ON actions (project, domain, created_at) INCLUDE (paused_count) WHERE parent_name IS NULL AND ended_at IS NULL;

-- How a task did, without reading the rows.
CREATE INDEX actions_task_ended ON actions (task_project, task_domain, task_name, ended_at)
    INCLUDE (task_version, phase, cache_status, started_at)
    WHERE action_type = 1 AND ended_at IS NOT NULL;

-- +goose Down
DROP INDEX actions_task_ended, actions_root_unfinished, actions_root_created;
CREATE INDEX actions_root_created ON actions (created_at, id) WHERE parent_name IS NULL;
