package store

import (
	"context"
	"fmt"
	"time"
)

// CollectReservations deletes up to limit reservations that have expired and answers how many.
func (s *Store) CollectReservations(ctx context.Context, limit int) (int, error) {
	return s.collect(ctx, `
		DELETE FROM cache_reservations WHERE (project, domain, key) IN (
			SELECT project, domain, key FROM cache_reservations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
		s.clock.Now(), limit)
}

// CollectOutputs deletes up to limit entries of a greater age and answers how many. The blobs are those of runs and stay.
func (s *Store) CollectOutputs(ctx context.Context, age time.Duration, limit int) (int, error) {
	return s.collect(ctx, `
		DELETE FROM cache_outputs WHERE (project, domain, key) IN (
			SELECT project, domain, key FROM cache_outputs WHERE updated_at < $1 ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
		s.clock.Now().Add(-age), limit)
}

func (s *Store) collect(ctx context.Context, query string, args ...any) (int, error) {
	tag, err := s.pool.Exec(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("collect what has expired: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
