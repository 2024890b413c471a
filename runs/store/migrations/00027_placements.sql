-- +goose Up

-- Why actions run on the clusters that they run on. Only installations with several clusters have rows.
CREATE TABLE placements (
    action_id bigint      PRIMARY KEY REFERENCES actions (id) ON DELETE CASCADE,
    reason    text        NOT NULL -- for people, bounded by runs/placement
);

-- +goose Down
DROP TABLE placements;
