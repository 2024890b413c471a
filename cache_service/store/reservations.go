package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Reservation is the exclusive right of an owner to compute the outputs of a key, until it expires.
type Reservation struct {
	Owner     string
	Heartbeat time.Duration
	ExpiresAt time.Time
}

// errVanished says that the row that held the key was deleted before it could be read.
var errVanished = errors.New("the reservation changed hands too often")

// Reserve claims a key that is free or expired, or extends a reservation of the same owner, for some time from now.
// It returns the reservation in force, which may be another owner's.
func (s *Store) Reserve(ctx context.Context, key Key, owner string, heartbeat, holds time.Duration) (Reservation, error) {
	const (
		claim = `
			INSERT INTO cache_reservations AS had (project, domain, key, owner, heartbeat, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (project, domain, key) DO UPDATE SET
				owner = excluded.owner, heartbeat = excluded.heartbeat, expires_at = excluded.expires_at
			WHERE had.owner = excluded.owner OR had.expires_at <= $7
			RETURNING owner, heartbeat, expires_at`
		look  = `SELECT owner, heartbeat, expires_at FROM cache_reservations WHERE project = $1 AND domain = $2 AND key = $3`
		tries = 5
	)
	for range tries {
		now := s.clock.Now()
		held, err := scanReservation(s.pool.QueryRow(ctx, claim, key.Project, key.Domain, key.Key, owner, heartbeat, now.Add(holds), now))
		if errors.Is(err, pgx.ErrNoRows) { // another's
			held, err = scanReservation(s.pool.QueryRow(ctx, look, key.Project, key.Domain, key.Key))
		}
		switch {
		case errors.Is(err, pgx.ErrNoRows): // released in between
		case err != nil:
			return Reservation{}, fmt.Errorf("reserve cache key: %w", err)
		default:
			return held, nil
		}
	}
	return Reservation{}, errVanished
}

func scanReservation(row pgx.Row) (r Reservation, err error) {
	err = row.Scan(&r.Owner, &r.Heartbeat, &r.ExpiresAt)
	return r, err
}

// Release releases a key. It is not an error when the owner did not have it.
func (s *Store) Release(ctx context.Context, key Key, owner string) error {
	const query = `DELETE FROM cache_reservations WHERE project = $1 AND domain = $2 AND key = $3 AND owner = $4`
	if _, err := s.pool.Exec(ctx, query, key.Project, key.Domain, key.Key, owner); err != nil {
		return fmt.Errorf("release cache key: %w", err)
	}
	return nil
}
