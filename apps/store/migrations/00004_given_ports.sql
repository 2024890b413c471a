-- +goose Up

-- The nodes of the cluster give every replica a port of its own, although all share one network.
ALTER TABLE app_clusters ADD COLUMN gives_ports boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE app_clusters DROP COLUMN gives_ports;
