// Package store keeps cache entries and reservations in Postgres. Each change is one statement, so that of callers
// that race for a key only one wins. It serves cache_service and has no access to blobs or messages.
package store

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Key names an entry. Without project and domain it is global.
type Key struct{ Project, Domain, Key string }

// Store reads and writes entries and reservations.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
}

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool, clk clock.Clock) *Store { return &Store{pool: pool, clock: clk} }
