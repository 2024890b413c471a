-- +goose Up

-- What the object store holds of each project, by the last listing of its objects.
CREATE TABLE stored (
    project      text        PRIMARY KEY,
    bytes        bigint      NOT NULL DEFAULT 0,
    objects      bigint      NOT NULL DEFAULT 0,
    measured_at  timestamptz,                      -- when the listing began; null before the first one
    added        bigint      NOT NULL DEFAULT 0,   -- bytes uploaded by way of the server since measured_at
    -- The listing under way: what it has seen, and where it continues.
    began_at     timestamptz,                      -- null when none is under way
    prefix       text        NOT NULL DEFAULT '',  -- being listed; those before it in order are done
    token        text        NOT NULL DEFAULT '',  -- of the object store, within the prefix
    seen_bytes   bigint      NOT NULL DEFAULT 0,
    seen_objects bigint      NOT NULL DEFAULT 0,
    seen_pages   bigint      NOT NULL DEFAULT 0,
    seen_added   bigint      NOT NULL DEFAULT 0,   -- as added, since began_at
    -- The last failure since measured_at.
    failed_at    timestamptz,
    failure      text        NOT NULL DEFAULT ''
);

-- Where runs of a project have their data, other than below the root of the object store.
CREATE TABLE stored_prefixes (
    project text NOT NULL,
    prefix  text NOT NULL,
    PRIMARY KEY (project, prefix)
);

-- +goose Down
DROP TABLE stored_prefixes;
DROP TABLE stored;
