package store

import (
	"embed"
	"io/fs"

	"github.com/flyte-binary/flyte-binary/internal/pgdb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the schema of the service.
func Schema() pgdb.Schema { return pgdb.Schema{Name: "runs", Files: Migrations()} }

// Migrations are the goose files of the schema, at the root of the file system.
func Migrations() fs.FS {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}
