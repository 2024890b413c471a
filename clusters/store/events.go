package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

// EventKind is what happened to a cluster.
type EventKind string

// The kinds of events. Those of operators are the states that they set, and EventChanged.
const (
	EventAdded     EventKind = "added"
	EventConnected EventKind = "connected" // for the first time
	EventReturned  EventKind = "returned"  // after it was away
	EventAway      EventKind = "away"      // not heard for longer than states.Silence
	EventLost      EventKind = "lost"      // away for so long that its work is given up
	EventVersion   EventKind = "version"   // of its controller changed
	EventChanged   EventKind = "changed"   // its labels, weight or pools
	EventCordoned  EventKind = states.Cordoned
	EventDraining  EventKind = states.Draining
	EventReady     EventKind = states.Ready
)

// MaxEvents is how many events are kept of each cluster.
const MaxEvents = 200

// Event is something that happened to a cluster.
type Event struct {
	ID   int64
	Kind EventKind
	At   time.Time
	// Subject is who did it; empty if no one did.
	Subject string
	Note    string
}

// note records an event in the transaction of the change. A cluster that is not registered has none.
func note(ctx context.Context, tx pgx.Tx, cluster string, e Event) error {
	if _, err := tx.Exec(ctx, `INSERT INTO cluster_events (cluster, kind, at, subject, note)
		SELECT name, $2, $3, $4, $5 FROM clusters WHERE name = $1`,
		cluster, e.Kind, e.At, e.Subject, e.Note); err != nil {
		return fmt.Errorf("record an event: %w", err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM cluster_events WHERE cluster = $1
		AND id <= (SELECT id FROM cluster_events WHERE cluster = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)`, cluster, MaxEvents); err != nil {
		return fmt.Errorf("forget old events: %w", err)
	}
	return nil
}

// noteConnect records that a cluster connected for the first time, came back, or has another version. It is called before the rows of its
// controllers change. A controller that only opens its link again is not noted.
func noteConnect(ctx context.Context, tx pgx.Tx, h Hello) error {
	var version string
	var silent time.Duration
	var now time.Time
	err := tx.QueryRow(ctx, `SELECT version, now() - seen_at, now() FROM cluster_states WHERE cluster = $1 ORDER BY seen_at DESC LIMIT 1`, h.Cluster).
		Scan(&version, &silent, &now)
	first := errors.Is(err, pgx.ErrNoRows)
	switch {
	case first:
		if err = tx.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
			return fmt.Errorf("read the time: %w", err)
		}
		return note(ctx, tx, h.Cluster, Event{Kind: EventConnected, At: now, Note: versionWords(h.Version)})
	case err != nil:
		return fmt.Errorf("read when cluster %s was last seen: %w", h.Cluster, err)
	}
	if silent > states.Silence {
		if err := note(ctx, tx, h.Cluster, Event{Kind: EventReturned, At: now, Note: "away for " + silent.Round(time.Second).String()}); err != nil {
			return err
		}
	}
	if version != h.Version {
		return note(ctx, tx, h.Cluster, Event{Kind: EventVersion, At: now, Note: versionWords(version) + " to " + versionWords(h.Version)})
	}
	return nil
}

func versionWords(version string) string {
	if version == "" {
		return "an unnamed version"
	}
	return "version " + version
}

// Events reads a page of the events of a cluster, latest first: those before one of them, or the latest if before is 0.
func (s *Store) Events(ctx context.Context, cluster string, before int64, limit int) ([]Event, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, kind, at, subject, note FROM cluster_events WHERE cluster = $1 AND ($2 = 0 OR id < $2) ORDER BY id DESC LIMIT $3`,
		cluster, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list the events of cluster %s: %w", cluster, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	if err != nil {
		return nil, fmt.Errorf("list the events of cluster %s: %w", cluster, err)
	}
	return found, nil
}
