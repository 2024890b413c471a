-- +goose Up

-- How many actions a run has in each phase, by the number of the phase, on its root. They hold for the event of counted_seq: a version
-- without these columns leaves both as they are, and the next write of the run counts its rows again.
ALTER TABLE actions ADD COLUMN phase_counts integer[];
ALTER TABLE actions ADD COLUMN counted_seq bigint;

-- +goose Down
ALTER TABLE actions DROP COLUMN counted_seq;
ALTER TABLE actions DROP COLUMN phase_counts;
