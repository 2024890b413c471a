// Package store keeps roles, bindings, keys, accounts, sessions and audit events in Postgres. It serves access and knows no
// messages and no decisions.
package store

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const openTable = "access_audit_open"

// Store reads and writes the rows of the service.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
	begun grantBounds
	// open is the table of calls that are not part of the chain yet, by a name that statements of every namespace can use.
	open string
}

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool, clk clock.Clock) *Store {
	return &Store{pool: pool, clock: clk, open: openTable, begun: grantBounds{address: addressGrants, all: allGrants}}
}

// Locate has to be called before transactions of other namespaces store records.
func (s *Store) Locate(ctx context.Context) error {
	namespace, err := pgdb.Namespace(ctx, s.pool)
	if err != nil {
		return err
	}
	s.open = namespace + "." + openTable
	return nil
}
