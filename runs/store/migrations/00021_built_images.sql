-- +goose Up

-- Images that runs of the task build-image have built. Nothing is deleted with the run: the image still exists.
CREATE TABLE built_images (
    action_id bigint      PRIMARY KEY,            -- the root action of the run
    project   text        NOT NULL,
    domain    text        NOT NULL,
    name      text        NOT NULL DEFAULT '',    -- what clients ask for; empty for a run that named no image
    reference text        NOT NULL DEFAULT '',    -- what containers name
    run_name  text        NOT NULL,
    built_at  timestamptz NOT NULL
);
CREATE INDEX built_images_name ON built_images (project, domain, name, built_at DESC);

-- +goose Down
DROP TABLE built_images;
