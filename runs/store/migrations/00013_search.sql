-- +goose Up

-- Runs and tasks by the beginning of their names, whatever their case, and by the words in names of several words. Names
-- that nobody chose have one word.
CREATE INDEX actions_root_prefix ON actions (lower(run_name) text_pattern_ops) WHERE parent_name IS NULL;
CREATE INDEX actions_root_words ON actions USING gin (to_tsvector('simple', regexp_replace(lower(run_name), '[^[:alnum:]]+', ' ', 'g')))
    WHERE parent_name IS NULL AND run_name ~ '[^[:alnum:]]';
CREATE INDEX tasks_latest_prefix ON tasks (lower(name) text_pattern_ops) WHERE is_latest;
CREATE INDEX tasks_latest_words ON tasks USING gin (to_tsvector('simple', regexp_replace(lower(name), '[^[:alnum:]]+', ' ', 'g')))
    WHERE is_latest;

-- +goose Down
DROP INDEX tasks_latest_words, tasks_latest_prefix, actions_root_words, actions_root_prefix;
