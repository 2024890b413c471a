package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a row of app_clusters.
type Cluster struct {
	Name string
	Network
	SeenAt time.Time
	// Silent says that its deployer has not been seen for a while.
	Silent bool
}

// Network is that of the pods of a cluster.
type Network struct {
	// Shared says that all pods share one network.
	Shared bool
	// GivesPorts says that each replica has a port of its own nevertheless.
	GivesPorts bool
}

// Seen notes that the deployer of a cluster is there. network is nil where it does not say how its network is. It reports
// whether something has changed but the time.
func (s *Store) Seen(ctx context.Context, cluster string, network *Network, now time.Time) (changed bool, err error) {
	var shared, gives *bool
	if network != nil {
		shared, gives = &network.Shared, &network.GivesPorts
	}
	err = s.pool.QueryRow(ctx, `
		WITH old AS (SELECT * FROM app_clusters WHERE cluster = $1)
		INSERT INTO app_clusters AS c (cluster, shared_network, gives_ports, seen_at) VALUES ($1, coalesce($2, false), coalesce($3, false), $4)
		ON CONFLICT (cluster) DO UPDATE SET shared_network = coalesce($2, c.shared_network), gives_ports = coalesce($3, c.gives_ports),
			seen_at = $4, silent = false
		RETURNING coalesce((SELECT old.silent OR (old.shared_network, old.gives_ports) <> (c.shared_network, c.gives_ports) FROM old), true)`,
		cluster, shared, gives, now).Scan(&changed)
	if err != nil {
		return false, fmt.Errorf("note a cluster: %w", err)
	}
	return changed, nil
}

// Clusters reads all clusters, by name.
func (s *Store) Clusters(ctx context.Context) (map[string]Cluster, error) {
	rows, err := s.pool.Query(ctx, `SELECT cluster, shared_network, gives_ports, seen_at, silent FROM app_clusters`)
	if err != nil {
		return nil, fmt.Errorf("read clusters: %w", err)
	}
	found := map[string]Cluster{}
	var c Cluster
	_, err = pgx.ForEachRow(rows, []any{&c.Name, &c.Shared, &c.GivesPorts, &c.SeenAt, &c.Silent}, func() error { found[c.Name] = c; return nil })
	if err != nil {
		return nil, fmt.Errorf("read clusters: %w", err)
	}
	return found, nil
}

// ForgetReplicas discards what clusters whose pods share one network have reported. Such a cluster is the machine of the server,
// and may have stopped with it; another program may have the ports of its replicas since. Its deployer reports all apps again.
func (s *Store) ForgetReplicas(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `
		WITH forgotten AS (
			UPDATE apps SET observed = '', observed_at = NULL, ready = 0, version = version + 1
			WHERE observed_at IS NOT NULL AND others = '{}' AND leaving = '{}' AND cluster IN (SELECT cluster FROM app_clusters WHERE shared_network)
			RETURNING id)
		SELECT pg_notify($1, id::text) FROM forgotten`, Channel)
	if err != nil {
		return fmt.Errorf("discard the replicas of clusters with one network: %w", err)
	}
	return nil
}

// Silence marks the clusters that were not seen since a time, and returns those that were not marked before.
func (s *Store) Silence(ctx context.Context, since time.Time) ([]string, error) {
	rows, err := s.pool.Query(ctx, `UPDATE app_clusters SET silent = true WHERE NOT silent AND seen_at < $1 RETURNING cluster`, since)
	if err != nil {
		return nil, fmt.Errorf("mark silent clusters: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("mark silent clusters: %w", err)
	}
	return names, nil
}

// OnClusters counts the apps that are not in a desired state, by their cluster.
func (s *Store) OnClusters(ctx context.Context, stopped int16) (map[string]int, error) {
	rows, err := s.pool.Query(ctx, `SELECT c, count(*) FROM apps, unnest(ARRAY[cluster] || others || leaving) AS c
		WHERE desired_state <> $1 AND c <> '' GROUP BY c`, stopped)
	if err != nil {
		return nil, fmt.Errorf("count the apps of clusters: %w", err)
	}
	found := map[string]int{}
	var cluster string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&cluster, &n}, func() error { found[cluster] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count the apps of clusters: %w", err)
	}
	return found, nil
}

// Hosts reads which clusters have apps.
func (s *Store) Hosts(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT c FROM apps, unnest(ARRAY[cluster] || others || leaving) AS c WHERE c <> '' ORDER BY c`)
	if err != nil {
		return nil, fmt.Errorf("read the clusters of apps: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the clusters of apps: %w", err)
	}
	return found, nil
}

// Placed reads the apps that run on one of some clusters, leave a cluster or wait for one, or all, oldest first. Those of operators of
// their own are left out.
func (s *Store) Placed(ctx context.Context, clusters []string, all bool) ([]int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT id FROM apps WHERE NOT foreign_run
		AND ($2 OR cluster = '' OR cluster = ANY($1) OR others && $1 OR leaving <> '{}') ORDER BY id`, names(clusters), all)
	if err != nil {
		return nil, fmt.Errorf("read the apps of clusters: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("read the apps of clusters: %w", err)
	}
	return found, nil
}
