package pgtest_test

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
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

func TestFilledOnce(t *testing.T) {
	fills := 0
	for id := range 2 {
		pool := pgtest.Filled(t, migrations, "things", func(ctx context.Context, pool *pgxpool.Pool) error {
			fills++
			_, err := pool.Exec(ctx, "INSERT INTO things (id) VALUES (7)")
			return err
		})
		var before int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM things").Scan(&before))
		require.Equal(t, 1, before, "what another test added is not there")
		_, err := pool.Exec(t.Context(), "INSERT INTO things (id) VALUES ($1)", id)
		require.NoError(t, err)
	}
	require.Equal(t, 1, fills)
}
