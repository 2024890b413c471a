-- +goose Up

-- A fire may be for a version of an artifact. Its slot is then the time of the version, and its cause is NAME@VERSION.
ALTER TABLE trigger_fires ADD COLUMN cause text NOT NULL DEFAULT '';
ALTER TABLE trigger_fires DROP CONSTRAINT trigger_fires_pkey, ADD PRIMARY KEY (trigger_id, slot, cause);

-- The artifacts that triggers wait for, and from which version until which: by the numbers of their events, which do not
-- depend on any clock. A version fires the revision that waited when it was created, however late that is seen.
CREATE TABLE trigger_watches (
    trigger_id bigint NOT NULL REFERENCES triggers ON DELETE CASCADE,
    revision   bigint NOT NULL,
    project    text   NOT NULL,
    domain     text   NOT NULL,
    artifact   text   NOT NULL,
    after_seq  bigint NOT NULL, -- events above this number
    until_seq  bigint,          -- and up to this one; NULL while the trigger waits
    ended_at   timestamptz,
    PRIMARY KEY (trigger_id, revision)
);
-- What a version fires.
CREATE INDEX trigger_watches_artifact ON trigger_watches (project, domain, artifact);
-- What is old.
CREATE INDEX trigger_watches_ended ON trigger_watches (ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down
DROP TABLE trigger_watches;
DELETE FROM trigger_fires WHERE cause <> '';
ALTER TABLE trigger_fires DROP CONSTRAINT trigger_fires_pkey, ADD PRIMARY KEY (trigger_id, slot);
ALTER TABLE trigger_fires DROP COLUMN cause;
