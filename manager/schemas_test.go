package manager_test

import (
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// catalog describes all columns, indexes, constraints and sequences.
func catalog(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT format('%s.%s.%s %s %s %s', table_schema, table_name, column_name, udt_name, is_nullable, column_default)
		FROM information_schema.columns WHERE table_schema IN ('public', 'tracked')
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname IN ('public', 'tracked')
		UNION ALL SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
		WHERE connamespace IN ('public'::regnamespace, 'tracked'::regnamespace)
		UNION ALL SELECT schemaname || '.' || sequencename FROM pg_sequences WHERE schemaname IN ('public', 'tracked')
		ORDER BY 1`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

// upTo is a schema with its migrations up to the nth alone, counted from 0.
func upTo(t *testing.T, schema pgdb.Schema, n int) pgdb.Schema {
	t.Helper()
	files := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(schema.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || len(files) > n {
			return err
		}
		body, err := fs.ReadFile(schema.Files, path)
		files[path] = &fstest.MapFile{Data: body}
		return err
	}))
	schema.Files = files
	return schema
}

// TestMigrationsDownAndUp: each migration can be rolled back and applied again over tables that have rows. What a
// migration added is lost with it, as the command says; rows of older tables stay.
func TestMigrationsDownAndUp(t *testing.T) {
	ctx, pool := t.Context(), pgtest.Schemas(t, manager.Schemas()...)
	now, parent := time.Now(), "a0"
	root := schema.Root{Action: schema.Action{
		ID: 1, RunID: 1, Project: "p", Domain: "d", RunName: "r", Name: "a0", TaskName: "t", Phase: 4, CreatedAt: now, Cluster: "east",
	}}
	child := root
	child.ID, child.Name, child.ParentName, child.WakeAt, child.Due, child.Priority = 2, "c", &parent, &now, schema.DueDeadline, 7
	require.NoError(t, storetest.Insert(ctx, pool, root, child))
	require.NoError(t, storetest.Exec(ctx, pool,
		`INSERT INTO webhooks (action_id, run_id, next_at) VALUES (2, 1, now())`,
		`INSERT INTO cache_reservations (project, domain, key, owner, heartbeat, expires_at) VALUES ('p', 'd', 'k', 'o', '1s', now())`))

	whole := catalog(t, pool)
	for _, schema := range manager.Schemas() {
		all, err := pgdb.MigrationStatus(ctx, pool, schema)
		require.NoError(t, err)
		down := func(want int64) {
			t.Helper()
			version, err := pgdb.MigrateDown(ctx, pool, schema)
			require.NoError(t, err)
			require.Equal(t, want, version)
		}
		for n := len(all) - 1; n >= 0; n-- {
			before := catalog(t, pool)
			down(all[n].Version)
			require.NotEqual(t, before, catalog(t, pool), all[n].Name)
			require.NoError(t, pgdb.Migrate(ctx, pool, upTo(t, schema, n)))
			require.Equal(t, before, catalog(t, pool), all[n].Name)
			if n > 0 && schema.Name == store.Schema().Name {
				var rows int
				require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FROM actions`).Scan(&rows))
				require.Equal(t, 2, rows, all[n].Name)
			}
			down(all[n].Version)
		}
	}
	for _, line := range catalog(t, pool) {
		require.Regexp(t, `(goose|cache|notifications|triggers|artifacts|apps|workers|connectors|access|clusters)_db_version`, line, "nothing else is left")
	}
	require.NoError(t, pgdb.Migrate(ctx, pool, manager.Schemas()...))
	require.Equal(t, whole, catalog(t, pool))
}
