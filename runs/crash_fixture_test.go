//go:build failpoints

package runs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

// The variables of processes that die: their database and where they die.
const (
	crashVariable     = "RUNS_CRASH_DSN"
	failpointVariable = "FLYTE_FAILPOINTS"
)

// dies runs a test in a process of its own on a database, which is killed at a point, such as "rollups.before-commit 2", and then
// again until it passes. It must be killed once; afterDeath looks at what it left.
func dies(t *testing.T, db *pgxpool.Pool, test, point string, afterDeath func()) {
	t.Helper()
	armed := filepath.Join(t.TempDir(), "armed")
	require.NoError(t, os.WriteFile(armed, []byte(point), 0o600))
	for deaths := 0; ; deaths++ {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$", "-test.v")
		child.Env = append(os.Environ(), crashVariable+"="+pgtest.URL(db), failpointVariable+"="+armed)
		said, err := child.CombinedOutput()
		if err == nil {
			require.Equal(t, 1, deaths, "the process passes the point")
			return
		}
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, -1, exit.ExitCode(), "%s", said) // killed
		require.Zero(t, deaths, "it dies once")
		afterDeath()
	}
}

// dying is the database of a process that dies; the test is skipped in others.
func dying(t *testing.T) *pgxpool.Pool {
	t.Helper()
	url := os.Getenv(crashVariable)
	if url == "" {
		t.Skip("it runs in a process of its own")
	}
	config := pgdb.DefaultConfig()
	config.URL, config.MaxConns, config.MinIdleConns = url, 8, 0
	db, err := pgdb.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

func countOf(t *testing.T, db *pgxpool.Pool, query string) (n int) {
	t.Helper()
	rows, err := db.Query(t.Context(), query)
	require.NoError(t, err)
	n, err = pgx.CollectOneRow(rows, pgx.RowTo[int])
	require.NoError(t, err)
	return n
}
