package store

import (
	"context"
	"fmt"
	"time"
)

// CollectReservations deletes up to limit expired reservations and returns how many.
func (s *Store) CollectReservations(ctx context.Context, limit int) (int, error) {
	return s.collect(ctx, `
		DELETE FROM cache_reservations WHERE (project, domain, key) IN (
			SELECT project, domain, key FROM cache_reservations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
		s.clock.Now(), limit)
}

// CollectOutputs deletes up to limit older entries and returns how many. It keeps the blobs, which belong to runs.
func (s *Store) CollectOutputs(ctx context.Context, age time.Duration, limit int) (int, error) {
	return s.collect(ctx, `
		DELETE FROM cache_outputs WHERE (project, domain, key) IN (
			SELECT project, domain, key FROM cache_outputs WHERE updated_at < $1 ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
		s.clock.Now().Add(-age), limit)
}

func (s *Store) collect(ctx context.Context, query string, args ...any) (int, error) {
	tag, err := s.pool.Exec(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("delete expired rows: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
