// Package store keeps roles, bindings, keys, accounts, sessions and audit events in Postgres. It serves access and knows no
// messages and no decisions.
package store

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const madeTable = "access_audit_made"

// Store reads and writes the rows of the service.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
	begun grantBounds
	// made is the table of the records of changes that are not part of the chain yet, by a name that statements of every namespace can use.
	made string
}

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool, clk clock.Clock) *Store {
	return &Store{pool: pool, clock: clk, made: madeTable, begun: grantBounds{address: addressGrants, all: allGrants}}
}

// Locate has to be called before transactions of other namespaces store records.
func (s *Store) Locate(ctx context.Context) error {
	namespace, err := pgdb.Namespace(ctx, s.pool)
	if err != nil {
		return err
	}
	s.made = namespace + "." + madeTable
	return nil
}
