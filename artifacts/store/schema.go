package store

import (
	"embed"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// LeaseTable is the table of the service's leases.
const LeaseTable = "artifact_leases"

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables. They share the database of the runs service, since retention must see in one statement
// what an artifact points to.
func Schema() pgdb.Schema { return pgdb.Embedded("artifacts", migrations) }

// InUse is a condition over the root a of a run, for the retention of the runs service: a version of the run's project points to
// something in the run's directory. Versions of other projects, which point to what their runs were handed, keep nothing: only who may
// write in a project decides what stays there. The bounds are the first text that starts with the directory, and the first after all
// of those: '0' follows '/'. namespace is the Postgres schema of the service's tables: tracked runs have another one.
func InUse(namespace string) string {
	return `EXISTS (SELECT FROM ` + namespace + `.artifact_data d JOIN ` + namespace + `.artifact_versions v ON v.id = d.version_id
		WHERE v.project = a.project AND d.uri ~>=~ a.run_output_base AND d.uri ~<~ (left(a.run_output_base, -1) || '0'))`
}
