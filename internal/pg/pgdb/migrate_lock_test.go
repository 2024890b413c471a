package pgdb_test

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

// TestAMigrationDoesNotMakeOthersWait: a reader holds a table that a migration wants to change. Writers that come after the
// migration continue, and the migration is applied when the reader leaves.
func TestAMigrationDoesNotMakeOthersWait(t *testing.T) {
	pool := pgtest.New(t, migrations)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reader, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer reader.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it has ended, unless the test failed
	_, err = reader.Exec(ctx, `LOCK TABLE leases IN ACCESS SHARE MODE`)
	require.NoError(t, err)

	migrated := make(chan error, 1)
	go func() {
		migrated <- pgdb.Migrate(ctx, pool, pgdb.Schema{Table: "more_versions", Files: fstest.MapFS{"00001_more.sql": {Data: []byte(
			"-- +goose Up\nALTER TABLE leases ADD COLUMN more int;\n-- +goose Down\nALTER TABLE leases DROP COLUMN more;\n")}}})
	}()
	tried := func() (found bool) {
		if len(migrated) > 0 {
			return true
		}
		require.NoError(t, pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'leases'::regclass AND NOT granted)`).Scan(&found))
		return found
	}
	for range 3 { // behind the waiting migration each time
		require.Eventually(t, tried, time.Minute, time.Millisecond)
		_, err = pool.Exec(ctx, `INSERT INTO leases (name, holder, expires_at) VALUES ('l', 'h', now()) ON CONFLICT (name) DO UPDATE SET holder = 'h'`)
		require.NoError(t, err)
	}
	require.Empty(t, migrated)
	require.NoError(t, reader.Rollback(ctx))
	require.NoError(t, <-migrated)
	_, err = pool.Exec(ctx, `UPDATE leases SET more = 1`)
	require.NoError(t, err)
}
