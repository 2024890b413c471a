package pgtest_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

var migrations = fstest.MapFS{"sql/00001_init.sql": {Data: []byte(`-- +goose Up
CREATE TABLE things (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
-- +goose Down
DROP TABLE things;
`)}}

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	for range 2 {
		t.Run("fresh", func(t *testing.T) {
			pool := pgtest.New(t, migrations)
			_, err := pool.Exec(t.Context(), "INSERT INTO things (id) VALUES (1)")
			require.NoError(t, err)
			var at time.Time
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT at FROM things").Scan(&at))
			require.Equal(t, time.UTC, at.Location())
		})
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	var name string
	t.Run("use", func(t *testing.T) { name = pgtest.New(t, migrations).Config().ConnConfig.Database })
	var there bool
	require.NoError(t, pgtest.Empty(t).QueryRow(t.Context(),
		"SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there))
	require.False(t, there)
}
