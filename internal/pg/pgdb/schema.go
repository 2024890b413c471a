package pgdb

import (
	"embed"
	"io/fs"
)

// Schema is one service's set of migrations. Several live in one database, each with a version table of its own.
type Schema struct {
	// Name is that of the service, for messages and commands.
	Name string
	// Files are goose's SQL files: at the root of the file system, or in its only folder.
	Files fs.FS
	// Table remembers which of them are applied; empty means goose_db_version.
	Table string
	// Namespace is the Postgres schema that has the tables; Migrate creates it. Empty means that of the connection.
	Namespace string
}

// Embedded is the schema of a service that shares its database with others: the files that it embeds, and a version table that is
// named after it.
func Embedded(name string, files embed.FS) Schema {
	return Schema{Name: name, Files: files, Table: name + "_db_version"}
}

const defaultVersionTable = "goose_db_version"

func (s Schema) table() string {
	if s.Table == "" {
		return defaultVersionTable
	}
	return s.Table
}

// Root returns the file system that has the migrations at its root.
func (s Schema) Root() (fs.FS, error) { return migrationRoot(s.Files) }
