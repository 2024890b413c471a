// Package store keeps roles, bindings, keys, accounts, sessions and audit events in Postgres. It serves access and knows no
// messages and no decisions.
package store

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Store reads and writes the rows of the service.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
	begun grantBounds
}

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool, clk clock.Clock) *Store {
	return &Store{pool: pool, clock: clk, begun: grantBounds{address: addressGrants, all: allGrants}}
}
