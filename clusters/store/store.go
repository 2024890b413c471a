// Package store keeps the clusters of an installation and the credentials of their controllers in Postgres. It serves clusters and
// knows no messages.
package store

import (
	"embed"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// Channel is the channel of Postgres on which changes of clusters and credentials are announced.
const Channel = "clusters"

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables. They may share a database with those of other services.
func Schema() pgdb.Schema { return pgdb.Embedded("clusters", migrations) }

// The errors of the store.
var (
	// ErrNone means that there is no such cluster or credential.
	ErrNone = errors.New("does not exist")
	// ErrExists means that there is a cluster with this name.
	ErrExists = errors.New("already exists")
	// ErrTooMany means that a cluster has as many valid credentials as it may have.
	ErrTooMany = errors.New("too many credentials")
)

// Store reads and writes the rows of the service.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }
