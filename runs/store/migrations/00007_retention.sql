-- +goose Up

-- Runs that are deleted. A root row becomes a row of this table in one transaction, which takes the run out of
-- everybody's sight; then its blobs go, then its other rows. What is interrupted goes on from here. The row stays for a
-- while after all is gone: until then nobody may take the name, so that nothing that is written late gets lost in it.
CREATE TABLE run_deletions (
    run_id        bigint      PRIMARY KEY,
    project       text        NOT NULL,
    domain        text        NOT NULL,
    run_name      text        NOT NULL,
    output_base   text        NOT NULL,
    marked_at     timestamptz NOT NULL,
    blobs_gone_at timestamptz,
    rows_gone_at  timestamptz
);
CREATE INDEX run_deletions_name ON run_deletions (project, domain, run_name);

-- Specs that a deleted row referred to, to be deleted when nothing else does; and how often that was done, so that those
-- who remember which specs are stored know when to forget.
CREATE TABLE spec_candidates (digest bytea PRIMARY KEY);
CREATE TABLE spec_sweeps (only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one), generation bigint NOT NULL DEFAULT 0);
INSERT INTO spec_sweeps DEFAULT VALUES;
CREATE INDEX actions_spec     ON actions (spec_digest)     WHERE spec_digest IS NOT NULL;
CREATE INDEX actions_run_spec ON actions (run_spec_digest) WHERE run_spec_digest IS NOT NULL;
CREATE INDEX tasks_spec       ON tasks (spec_digest);

-- Which runs use what lies below the directory of another: its inputs, its outputs by recovery or by the cache (phase
-- RECOVERED, CACHE_HIT), or their own directory within it.
CREATE INDEX actions_root_inputs ON actions (input_uri text_pattern_ops)       WHERE parent_name IS NULL;
CREATE INDEX actions_root_base   ON actions (run_output_base text_pattern_ops) WHERE parent_name IS NULL;
CREATE INDEX actions_borrowed    ON actions (output_uri text_pattern_ops)      WHERE phase = 10 OR cache_status = 2;

-- Which installation this is, so that several can share a cluster: its objects there carry the id.
CREATE TABLE installation (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    id       text    NOT NULL DEFAULT left(replace(gen_random_uuid()::text, '-', ''), 12)
);
INSERT INTO installation DEFAULT VALUES;

-- +goose Down
DROP TABLE installation;
DROP INDEX actions_borrowed, actions_root_base, actions_root_inputs, tasks_spec, actions_run_spec, actions_spec;
DROP TABLE spec_sweeps, spec_candidates, run_deletions;
