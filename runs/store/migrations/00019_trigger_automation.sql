-- +goose Up

-- Why the trigger of a run fired it: the task.TriggerAutomationSpec of its revision; NULL for runs without a trigger.
ALTER TABLE actions ADD COLUMN trigger_automation bytea;

-- +goose Down
ALTER TABLE actions DROP COLUMN trigger_automation;
