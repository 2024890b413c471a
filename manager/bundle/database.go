package bundle

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/manager"
)

// database has one pool for the parts that ask Postgres. It reads no rows of users: sizes, versions, leases and what runs now
// without its text.
type database struct {
	config pgdb.Config
	pool   *pgxpool.Pool
	err    error
}

func newDatabase(config pgdb.Config) *database { return &database{config: config} }

func (d *database) close() {
	if d.pool != nil {
		d.pool.Close()
	}
}

// connectTimeout bounds the first connection. After it failed, no part tries again.
const connectTimeout = 10 * time.Second

func (d *database) open(ctx context.Context) (*pgxpool.Pool, error) {
	if d.pool == nil && d.err == nil {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		if d.pool, d.err = pgdb.Open(ctx, d.config); d.err == nil {
			d.err = d.pool.Ping(ctx)
		}
	}
	return d.pool, d.err
}

func (d *database) parts() []part {
	parts := []part{{"database/migrations.txt", d.migrations}}
	for _, one := range []struct{ name, query string }{
		{"database/server.txt", `SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'max_connections', 'shared_buffers',
			'synchronous_commit', 'work_mem', 'autovacuum', 'default_transaction_isolation') ORDER BY name`},
		{"database/tables.txt", `SELECT s.schemaname || '.' || s.relname AS table, pg_total_relation_size(s.relid) AS bytes,
			pg_indexes_size(s.relid) AS index_bytes, s.n_live_tup AS rows, s.n_dead_tup AS dead_rows, s.last_autovacuum, s.last_autoanalyze
			FROM pg_stat_user_tables s ORDER BY bytes DESC`},
		{"database/queues.txt", `SELECT queue, count(*) FILTER (WHERE admitted_at IS NULL) AS waiting, count(*) FILTER (WHERE admitted_at IS NOT NULL)
			AS live, min(created_at) FILTER (WHERE admitted_at IS NULL) AS oldest_waiting
			FROM actions WHERE ended_at IS NULL GROUP BY queue ORDER BY queue`},
		{"database/activity.txt", `SELECT pid, application_name, state, wait_event_type, wait_event, round(extract(epoch FROM now() - xact_start)) AS transaction_seconds
			FROM pg_stat_activity WHERE datname = current_database() ORDER BY xact_start NULLS LAST LIMIT 200`},
		{"database/leases.txt", `SELECT 'loops' AS of, name, holder, expires_at FROM leases
			UNION ALL SELECT 'triggers', name, holder, expires_at FROM trigger_leases ORDER BY 1, 2`},
	} {
		parts = append(parts, part{one.name, func(ctx context.Context, w io.Writer) error { return d.table(ctx, one.query, w) }})
	}
	return parts
}

func (d *database) migrations(ctx context.Context, w io.Writer) error {
	pool, err := d.open(ctx)
	if err != nil {
		return err
	}
	all, err := pgdb.MigrationStatus(ctx, pool, manager.Schemas()...)
	for _, one := range all {
		state := "pending"
		if !one.AppliedAt.IsZero() {
			state = one.AppliedAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", one.Schema, one.Version, one.Name, state)
	}
	return err
}

// table writes the rows of a query with tabs between the columns.
func (d *database) table(ctx context.Context, query string, w io.Writer) error {
	pool, err := d.open(ctx)
	if err != nil {
		return err
	}
	rows, err := pool.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, column := range rows.FieldDescriptions() {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, column.Name)
	}
	fmt.Fprintln(w)
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		cells := make([]string, len(values))
		for i, value := range values {
			cells[i] = cell(value)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return rows.Err()
}

func cell(value any) string {
	switch value := value.(type) {
	case nil:
		return "-"
	case time.Time:
		return value.UTC().Format(time.RFC3339)
	default:
		return fmt.Sprint(value)
	}
}
