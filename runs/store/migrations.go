package store

import (
	"embed"
	"io/fs"

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
