package pgdb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// migrations has the table that leases need, and a second step to revert.
var migrations = fstest.MapFS{
	"migrations/00001_leases.sql": {Data: []byte(`-- +goose Up
CREATE TABLE leases (name text PRIMARY KEY, holder text NOT NULL, expires_at timestamptz NOT NULL);
-- +goose Down
DROP TABLE leases;
`)},
	"migrations/00002_more.sql": {Data: []byte(`-- +goose Up
CREATE TABLE more (id int);
-- +goose Down
DROP TABLE more;
`)},
}

// Story R33: migrations took their lock through a pool and lost it.
func TestMigrate(t *testing.T) {
	pool := pgtest.Empty(t)
	schema := pgdb.Schema{Name: "first", Files: migrations}
	require.EqualError(t, pgdb.CheckSchema(t.Context(), pool, schema), "migrations: the schema first is at version 0 and must be at 2")
	status, err := pgdb.MigrationStatus(t.Context(), pool, schema)
	require.NoError(t, err)
	require.Len(t, status, 2)
	require.Zero(t, status[0].AppliedAt)

	// Processes that start together do not disturb each other.
	failures := make(chan error)
	for range 3 {
		go func() { failures <- pgdb.Migrate(t.Context(), pool, schema) }()
	}
	for range 3 {
		require.NoError(t, <-failures)
	}
	require.NoError(t, pgdb.CheckSchema(t.Context(), pool, schema))

	version, err := pgdb.MigrateDown(t.Context(), pool, schema)
	require.NoError(t, err)
	require.EqualValues(t, 2, version)
	require.Error(t, pgdb.CheckSchema(t.Context(), pool, schema))
	for _, want := range []int64{1, 0} {
		version, err = pgdb.MigrateDown(t.Context(), pool, schema)
		require.NoError(t, err)
		require.Equal(t, want, version)
	}
}

func TestSchemasKeepToThemselves(t *testing.T) {
	pool := pgtest.Empty(t)
	first := pgdb.Schema{Name: "first", Files: migrations}
	second := pgdb.Schema{Name: "second", Table: "second_version", Files: fstest.MapFS{
		"00001_other.sql": {Data: []byte("-- +goose Up\nCREATE TABLE other (id int);\n-- +goose Down\nDROP TABLE other;\n")},
	}}
	require.NoError(t, pgdb.Migrate(t.Context(), pool, first))
	require.ErrorContains(t, pgdb.CheckSchema(t.Context(), pool, first, second), "schema second")
	require.NoError(t, pgdb.Migrate(t.Context(), pool, first, second))
	require.NoError(t, pgdb.CheckSchema(t.Context(), pool, first, second))
	status, err := pgdb.MigrationStatus(t.Context(), pool, first, second)
	require.NoError(t, err)
	require.Len(t, status, 3)
	require.Equal(t, "second", status[2].Schema)

	version, err := pgdb.MigrateDown(t.Context(), pool, second)
	require.NoError(t, err)
	require.EqualValues(t, 1, version)
	require.NoError(t, pgdb.CheckSchema(t.Context(), pool, first))
}

func TestBrokenMigrationIsNamed(t *testing.T) {
	broken := fstest.MapFS{"00001_broken.sql": {Data: []byte("-- +goose Up\nCREATE TABEL x;\n")}}
	require.ErrorContains(t, pgdb.Migrate(t.Context(), pgtest.Empty(t), pgdb.Schema{Name: "broken", Files: broken}), "00001_broken.sql")
}

func TestOpen(t *testing.T) {
	pool := pgtest.Empty(t)
	t.Run("settings reach the server", func(t *testing.T) {
		var zone, limit, idle string
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_setting('timezone'), current_setting('statement_timeout'), "+
			"current_setting('idle_in_transaction_session_timeout')").Scan(&zone, &limit, &idle))
		require.Equal(t, "UTC", zone)
		require.Equal(t, "30s", limit)
		require.Equal(t, "10s", idle, "who freezes in a transaction does not keep its locks")
	})
	t.Run("times are in UTC, in arrays too", func(t *testing.T) {
		var one time.Time
		var many []time.Time
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT now(), array[now()]").Scan(&one, &many))
		require.Equal(t, time.UTC, one.Location())
		require.Equal(t, time.UTC, many[0].Location())
	})
	t.Run("password file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "password")
		require.NoError(t, os.WriteFile(path, []byte("secret\n"), 0o600))
		config := pgdb.DefaultConfig()
		config.URL, config.PasswordFile = pgtest.URL(pool), path
		opened, err := pgdb.Open(t.Context(), config)
		require.NoError(t, err)
		defer opened.Close()
		require.Equal(t, "secret", opened.Config().ConnConfig.Password)
	})
	t.Run("unreachable", func(t *testing.T) {
		config := pgdb.DefaultConfig()
		config.URL = "postgres://flyte@/flyte?host=" + t.TempDir()
		_, err := pgdb.Open(t.Context(), config)
		require.ErrorContains(t, err, "reach database")
		require.True(t, pgdb.IsTransient(err))
	})
}

func TestConfigNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*pgdb.Config){
		"url":              func(c *pgdb.Config) { c.URL = "" },
		"url: ":            func(c *pgdb.Config) { c.URL = "postgres://%zz" },
		"maxConns":         func(c *pgdb.Config) { c.MaxConns = -1 },
		"minIdleConns":     func(c *pgdb.Config) { c.MinIdleConns = 100 },
		"statementTimeout": func(c *pgdb.Config) { c.StatementTimeout = -1 },
	} {
		config := pgdb.DefaultConfig()
		config.URL = "postgres://localhost/flyte"
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}

func TestIsTransient(t *testing.T) {
	pool := pgtest.Empty(t)
	_, serialization := pool.Exec(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$")
	require.True(t, pgdb.IsTransient(serialization))
	_, syntax := pool.Exec(t.Context(), "SELEC 1")
	require.False(t, pgdb.IsTransient(syntax))
	require.False(t, pgdb.IsTransient(nil))
	require.False(t, pgdb.IsTransient(pgx.ErrNoRows))
	require.False(t, pgdb.IsTransient(context.Canceled))
	require.True(t, pgdb.IsTransient(&pgconn.PgError{Code: "57P01"}))
	require.True(t, pgdb.IsTransient(&pgconn.PgError{Code: "55000"}))
	require.True(t, pgdb.IsTransient(&pgconn.PgError{Code: "25P03"}))

	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	terminate(t, pool, conn.Conn().PgConn().PID())
	_, err = conn.Exec(t.Context(), "SELECT 1")
	require.True(t, pgdb.IsTransient(err), "%v", err)
	_, err = conn.Exec(t.Context(), "SELECT 1")
	require.True(t, pgdb.IsTransient(err), "%v", err)
	require.True(t, pgdb.IsTransient(errors.Join(errors.New("more"), err)))
}

func terminate(t *testing.T, pool *pgxpool.Pool, pid uint32) {
	t.Helper()
	_, err := pool.Exec(t.Context(), "SELECT pg_terminate_backend($1::int)", int32(pid))
	require.NoError(t, err)
}
