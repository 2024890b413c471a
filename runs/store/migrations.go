package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the schema of the service.
func Schema() pgdb.Schema { return pgdb.Schema{Name: "runs", Files: Migrations()} }

// TrackedNamespace is the Postgres schema with the tables of tracked runs.
const TrackedNamespace = "tracked"

// TrackedSchema has the tables of Schema again, for tracked runs.
func TrackedSchema() pgdb.Schema {
	return pgdb.Schema{Name: "tracked", Files: Migrations(), Namespace: TrackedNamespace}
}

// Migrations are the goose files of the schema.
func Migrations() fs.FS { return migrations }

// Installation reads the id of the installation that owns a database: twelve hexadecimal digits, generated when the
// database was created.
func Installation(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	var id string
	if err := pool.QueryRow(ctx, `SELECT id FROM installation`).Scan(&id); err != nil {
		return "", fmt.Errorf("read the id of the installation: %w", err)
	}
	return id, nil
}
