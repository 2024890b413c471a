package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Event says that a version was created.
type Event struct {
	Seq int64
	VersionKey
	Org       string
	CreatedAt time.Time
	// Partitions is the encoded core.Partitions; nil for none.
	Partitions []byte
}

// Events reads the oldest events that were not removed. A version that was deleted since has none.
func (s *Store) Events(ctx context.Context, limit int) ([]Event, error) {
	rows, err := s.pool.Query(ctx, `SELECT e.seq, v.project, v.domain, v.name, v.version, v.org, v.created_at, v.partitions
		FROM (SELECT * FROM artifact_events ORDER BY seq LIMIT $1) e JOIN artifact_versions v ON v.id = e.version_id ORDER BY e.seq`, limit)
	if err != nil {
		return nil, fmt.Errorf("read artifact events: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Event, error) {
		var e Event
		return e, row.Scan(&e.Seq, &e.Project, &e.Domain, &e.Name.Name, &e.Version, &e.Org, &e.CreatedAt, &e.Partitions)
	})
	if err != nil {
		return nil, fmt.Errorf("read artifact events: %w", err)
	}
	return found, nil
}

// LastEvent returns the highest number that was given to an event so far, also by transactions that are not committed; 0
// before the first.
func (s *Store) LastEvent(ctx context.Context) (seq int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM artifact_events_seq_seq`).Scan(&seq)
	if err != nil {
		return 0, fmt.Errorf("read the last artifact event: %w", err)
	}
	return seq, nil
}

// RemoveEvents deletes events that were handled.
func (s *Store) RemoveEvents(ctx context.Context, seqs []int64) error {
	if _, err := s.pool.Exec(ctx, `DELETE FROM artifact_events WHERE seq = ANY($1)`, seqs); err != nil {
		return fmt.Errorf("delete artifact events: %w", err)
	}
	return nil
}

// DropEvents deletes up to limit events that are older than an age, and returns how many.
func (s *Store) DropEvents(ctx context.Context, age time.Duration, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM artifact_events WHERE seq IN (
		SELECT seq FROM artifact_events WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, s.clock.Now().Add(-age), limit)
	if err != nil {
		return 0, fmt.Errorf("delete old artifact events: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
