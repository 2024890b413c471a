package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

// Hello is what a replica of a controller says when it connects.
type Hello struct {
	Cluster, Instance, Link, Replica string
	Version, Policy, PodPolicy       string
	Plugins, TaskTypes               []string
	Labels                           map[string]string
	Nodes                            Nodes
}

// Nodes is what the nodes of a cluster have.
type Nodes struct {
	Accelerators            []string
	Capacity, Free, Largest states.Resources
}

// Connect records that a replica of a controller has connected, and forgets replicas of it that are gone. A cluster that is not
// registered becomes so if enroll is set; else Connect fails with ErrNone.
func (s *Store) Connect(ctx context.Context, h Hello, enroll bool) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if enroll {
			if _, err := tx.Exec(ctx, `INSERT INTO clusters (name, created_by, created_at) VALUES ($1, '', now()) ON CONFLICT DO NOTHING`, h.Cluster); err != nil {
				return err
			}
		}
		if err := noteConnect(ctx, tx, h); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM cluster_states WHERE cluster = $1 AND instance <> $2 AND seen_at < now() - $3::interval`,
			h.Cluster, h.Instance, states.Silence); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, `INSERT INTO cluster_states
			(cluster, instance, link, replica, version, policy, plugins, task_types, labels, accelerators, capacity, free, largest, pod_policy, connected_at, seen_at)
			SELECT name, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now(), now() FROM clusters WHERE name = $1
			ON CONFLICT (cluster, instance) DO UPDATE SET link = excluded.link, replica = excluded.replica, version = excluded.version,
				policy = excluded.policy, plugins = excluded.plugins, task_types = excluded.task_types, labels = excluded.labels,
				accelerators = excluded.accelerators, capacity = excluded.capacity, free = excluded.free, largest = excluded.largest,
				pod_policy = excluded.pod_policy, connected_at = excluded.connected_at, seen_at = excluded.seen_at`,
			h.Cluster, h.Instance, h.Link, h.Replica, h.Version, h.Policy, list(h.Plugins), list(h.TaskTypes), texts(h.Labels),
			list(h.Nodes.Accelerators), amounts(h.Nodes.Capacity), amounts(h.Nodes.Free), amounts(h.Nodes.Largest), h.PodPolicy)
		if err == nil && done.RowsAffected() == 0 {
			return ErrNone
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record the link of cluster %s: %w", h.Cluster, err)
	}
	return nil
}

// list is a list that is not null in the database.
func list(of []string) []string { return append([]string{}, of...) }

// texts is a map that is not null in the database.
func texts(of map[string]string) map[string]string {
	if of == nil {
		return map[string]string{}
	}
	return of
}

// amounts is a column of resources. Unknown ones are null in JSON.
func amounts(of states.Resources) any {
	if of == nil {
		return []byte("null")
	}
	return of
}

// States implements states.Source. Times are by the caller's clock, ages by that of Postgres.
func (s *Store) States(ctx context.Context, now time.Time) ([]states.State, error) {
	rows, err := s.pool.Query(ctx, `SELECT c.name, c.state, c.state_by, c.state_note, c.state_at, c.drain_until, c.weight, c.pools, c.labels, s.version, s.policy, s.pod_policy, s.plugins, s.task_types, s.labels,
			s.accelerators, s.capacity, s.free, s.largest, now() - s.connected_at, now() - s.seen_at, s.fresh,
			CASE WHEN c.refused_at > now() - $2::interval AND c.refused_at > coalesce(s.connected_at, '-infinity') THEN c.refused_version ELSE '' END
		FROM clusters c LEFT JOIN LATERAL (
			SELECT *, count(*) FILTER (WHERE seen_at > now() - $1::interval) OVER () AS fresh
			FROM cluster_states WHERE cluster = c.name ORDER BY seen_at DESC LIMIT 1) s ON true
		ORDER BY c.name`, states.Silence, refusedFor)
	if err != nil {
		return nil, fmt.Errorf("read the states of clusters: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (states.State, error) { return scanState(row, now) })
	if err != nil {
		return nil, fmt.Errorf("read the states of clusters: %w", err)
	}
	removed, err := s.removals(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the clusters that were removed: %w", err)
	}
	if len(removed) == 0 {
		return found, nil
	}
	found = append(found, removed...)
	slices.SortFunc(found, func(a, b states.State) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func scanState(row pgx.CollectableRow, now time.Time) (states.State, error) {
	var state states.State
	var given, reported map[string]string
	var version, policy, podPolicy *string
	var connected, seen *time.Duration
	var fresh *int
	var at, until *time.Time
	if err := row.Scan(&state.Name, &state.State, &state.By, &state.Note, &at, &until, &state.Weight, &state.Pools, &given, &version, &policy, &podPolicy, &state.Plugins, &state.TaskTypes, &reported,
		&state.Accelerators, &state.Capacity, &state.Free, &state.Largest, &connected, &seen, &fresh, &state.Refused); err != nil {
		return states.State{}, err
	}
	if at != nil {
		state.At = *at
	}
	if until != nil {
		state.Until = *until
	}
	state.Labels, state.Given = map[string]string{}, given
	maps.Copy(state.Labels, reported)
	maps.Copy(state.Labels, given)
	if seen == nil {
		return state, nil
	}
	state.Version, state.Policy, state.PodPolicy, state.Controllers = *version, *policy, *podPolicy, *fresh
	state.ConnectedAt, state.SeenAt = now.Add(-*connected), now.Add(-*seen)
	return state, nil
}
