-- +goose Up

-- Settings of one scope: the whole installation (neither domain nor project), a domain, a project in a domain.
CREATE TABLE settings (
    domain     text        NOT NULL,
    project    text        NOT NULL,
    body       bytea       NOT NULL,  -- settings.Settings
    version    bigint      NOT NULL,  -- 1, and one more with every change
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (domain, project),
    CHECK (project = '' OR domain <> '')
);

-- +goose Down

DROP TABLE settings;
