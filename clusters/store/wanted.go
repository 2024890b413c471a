package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

// Wanted is what an operator wants of a cluster.
type Wanted struct {
	// State is states.Ready, states.Cordoned or states.Draining.
	State    string
	By, Note string
	At       time.Time
	// Until is when attempts that are still on a draining cluster are ended; nil means never.
	Until *time.Time
}

// words are the note with the deadline.
func (w Wanted) words() string {
	if w.Until == nil {
		return w.Note
	}
	until := "until " + w.Until.UTC().Format("2006-01-02 15:04 UTC")
	if w.Note == "" {
		return until
	}
	return until + ": " + w.Note
}

// SetState records what an operator wants of a cluster. It fails with ErrNone.
func (s *Store) SetState(ctx context.Context, name string, w Wanted) error {
	return s.change(ctx, "set the state of cluster "+name, func(tx pgx.Tx) error {
		if err := changed(tx.Exec(ctx, `UPDATE clusters SET state = $2, state_by = $3, state_at = $4, state_note = $5, drain_until = $6 WHERE name = $1`,
			name, w.State, w.By, w.At, w.Note, w.Until)); err != nil {
			return err
		}
		return note(ctx, tx, name, Event{Kind: EventKind(w.State), At: w.At, Subject: w.By, Note: w.words()})
	})
}

// changed fails with ErrNone if a statement found nothing to change.
func changed(done pgconn.CommandTag, err error) error {
	if err == nil && done.RowsAffected() == 0 {
		return ErrNone
	}
	return err
}

// Update is a change of what operators say about a cluster. Fields that are nil stay.
type Update struct {
	// By is who changes it, and At when.
	By string
	At time.Time

	Labels map[string]string
	Weight *int
	Pools  []string
}

// words say what was changed.
func (u Update) words() string {
	var parts []string
	if u.Labels != nil {
		parts = append(parts, "labels "+cmp.Or(strings.Join(sortedLabels(u.Labels), ", "), "none"))
	}
	if u.Weight != nil {
		parts = append(parts, "weight "+strconv.Itoa(*u.Weight))
	}
	if u.Pools != nil {
		parts = append(parts, "pools "+cmp.Or(strings.Join(u.Pools, ", "), "none"))
	}
	return strings.Join(parts, "; ")
}

func sortedLabels(labels map[string]string) (pairs []string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return pairs
}

// Update changes a cluster. It fails with ErrNone.
func (s *Store) Update(ctx context.Context, name string, u Update) error {
	return s.change(ctx, "change cluster "+name, func(tx pgx.Tx) error {
		var labels any
		if u.Labels != nil {
			labels = u.Labels
		}
		if err := changed(tx.Exec(ctx, `UPDATE clusters SET labels = coalesce($2, labels), weight = coalesce($3, weight), pools = coalesce($4, pools) WHERE name = $1`,
			name, labels, u.Weight, u.Pools)); err != nil {
			return err
		}
		return note(ctx, tx, name, Event{Kind: EventChanged, At: u.At, Subject: u.By, Note: u.words()})
	})
}

// Abandon removes a cluster although work is there, which is then given up. It fails with ErrNone.
func (s *Store) Abandon(ctx context.Context, name string, now time.Time) error {
	return s.change(ctx, "remove cluster "+name, func(tx pgx.Tx) error {
		if err := changed(tx.Exec(ctx, `DELETE FROM clusters WHERE name = $1`, name)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO cluster_removals (name, removed_at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET removed_at = excluded.removed_at`, name, now)
		return err
	})
}

// removals reads the names of clusters whose work is given up.
func (s *Store) removals(ctx context.Context) ([]states.State, error) {
	rows, err := s.pool.Query(ctx, `SELECT name FROM cluster_removals r WHERE NOT EXISTS (SELECT FROM clusters c WHERE c.name = r.name) ORDER BY name`)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (states.State, error) { //nolint:wrapcheck // the caller does
		removed := states.State{State: states.Removed}
		return removed, row.Scan(&removed.Name)
	})
}
