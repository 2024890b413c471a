package store

import (
	"embed"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// LeaseTable is the table of the service's leases.
const LeaseTable = "access_leases"

// Channel is the channel of Postgres on which changes of the policy are announced.
const Channel = "access_policy"

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables. They may share a database with those of other services.
func Schema() pgdb.Schema { return pgdb.Embedded("access", migrations) }
