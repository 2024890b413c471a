-- +goose Up

-- Records of changes that were committed with them, until they are part of the chain, a second later. Each change pays for its row: so the
-- only index is that of the id, and ids grow with the time. access_audit_open keeps the calls whose outcome is unknown.
CREATE TABLE access_audit_made (
    id    uuid PRIMARY KEY,  -- version 7: it begins with the time of the call
    event text NOT NULL      -- JSON
);

-- +goose Down
INSERT INTO access_audit_open (id, begun, event) SELECT id::text, now(), event::jsonb FROM access_audit_made;
DROP TABLE access_audit_made;
