-- +goose Up

-- Actions that declare artifacts and have succeeded, until their outputs are registered. The transaction that ends the
-- action writes the row.
CREATE TABLE produced_outputs (
    action_id bigint      PRIMARY KEY,
    run_id    bigint      NOT NULL,
    tries     integer     NOT NULL DEFAULT 0,
    next_at   timestamptz NOT NULL
);
CREATE INDEX produced_outputs_next ON produced_outputs (next_at, action_id);
CREATE INDEX produced_outputs_run  ON produced_outputs (run_id);

-- The versions of artifacts among the inputs of runs. The transaction that creates the run writes the rows.
CREATE TABLE artifact_uses (
    run_id  bigint NOT NULL,
    project text   NOT NULL,   -- of the artifact, as its identity among the inputs has it
    domain  text   NOT NULL,
    name    text   NOT NULL,
    version text   NOT NULL,
    PRIMARY KEY (run_id, project, domain, name, version)
);
CREATE INDEX artifact_uses_artifact ON artifact_uses (project, domain, name, version, run_id);

-- Whether the task declares artifacts among its outputs. A constant default is kept in the catalog, so that the table is
-- not rewritten.
ALTER TABLE actions ADD COLUMN produces boolean NOT NULL DEFAULT false;

-- +goose Down
DROP TABLE artifact_uses, produced_outputs;
ALTER TABLE actions DROP COLUMN produces;
