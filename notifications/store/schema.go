// Package store keeps the deliveries of notifications in Postgres: their queue, and the list that people see.
package store

import (
	"embed"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// LeaseTable is the table of the service's leases.
const LeaseTable = "notification_leases"

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables. They may share a database with those of other services.
func Schema() pgdb.Schema { return pgdb.Embedded("notifications", migrations) }
