package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// NoteAbsence records that no controller of a cluster was heard for longer than a time, once for each absence, whichever process sees it
// first. lost says that the work that runs there is given up. It does nothing if the cluster is back, or is not registered.
func (s *Store) NoteAbsence(ctx context.Context, cluster string, silence time.Duration, lost bool) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		var name string
		err := tx.QueryRow(ctx, `SELECT name FROM clusters WHERE name = $1 FOR UPDATE`, cluster).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		event := Event{Kind: EventAway}
		if lost {
			event.Kind = EventLost
		}
		var seen time.Time
		err = tx.QueryRow(ctx, `SELECT max(seen_at), now() FROM cluster_states WHERE cluster = $1
			HAVING max(seen_at) < now() - $2::interval
				AND NOT EXISTS (SELECT FROM cluster_events WHERE cluster = $1 AND kind = $3 AND at > max(cluster_states.seen_at))`,
			cluster, silence, event.Kind).Scan(&seen, &event.At)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		event.Note = "last seen " + seen.UTC().Format("2006-01-02 15:04:05 MST")
		if lost {
			event.Note += "; what ran there is given up as soon as another cluster takes work"
		}
		return note(ctx, tx, cluster, event)
	})
	if err != nil {
		return fmt.Errorf("record that cluster %s is away: %w", cluster, err)
	}
	return nil
}
