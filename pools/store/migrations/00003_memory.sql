-- +goose Up

ALTER TABLE pool_workers
    ADD COLUMN out_of_memory boolean NOT NULL DEFAULT false, -- it has ended for want of memory
    ADD COLUMN blamed        bigint  NOT NULL DEFAULT 0;     -- the uid of the action that used it; 0 if that is not known

-- +goose Down
ALTER TABLE pool_workers DROP COLUMN out_of_memory, DROP COLUMN blamed;
