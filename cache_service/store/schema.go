package store

import (
	"embed"
	"io/fs"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// LeaseTable is the table of the service's leases.
const LeaseTable = "cache_leases"

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables. They may share a database with those of other services.
func Schema() pgdb.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return pgdb.Schema{Name: "cache", Files: files, Table: "cache_db_version"}
}
