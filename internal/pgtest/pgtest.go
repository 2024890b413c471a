package pgtest

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pgembed"
)

// shared is the server of this process. It is a global because a server for each test would cost a second
// each, and go test has no other place that outlives one test.
var shared struct {
	mu        sync.Mutex
	server    *pgembed.Server   // GUARDED_BY(mu)
	release   func()            // GUARDED_BY(mu): tells the watcher to clean up
	failure   error             // GUARDED_BY(mu): why there is no server; the first reason stays
	templates map[string]string // GUARDED_BY(mu): hash of migrations -> database
}

var databases atomic.Int64

// New returns a pool on a database of its own for the test, with migrations applied: SQL files of goose, at the root of the
// file system or in its only folder. The database is dropped when the test ends. A machine without Postgres fails the
// test and says what to install.
func New(t testing.TB, migrations fs.FS) *pgxpool.Pool {
	t.Helper()
	if migrations == nil {
		return Schemas(t)
	}
	return Schemas(t, pgdb.Schema{Files: migrations})
}

// Schemas is New for several schemas in one database.
func Schemas(t testing.TB, schemas ...pgdb.Schema) *pgxpool.Pool {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	server, template := prepare(ctx, t, schemas)
	name := fmt.Sprintf("test_%d", databases.Add(1))
	execute(ctx, t, server, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template))
	t.Cleanup(func() { execute(ctx, t, server, fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)) })
	config := pgdb.DefaultConfig()
	config.URL, config.MaxConns, config.MinIdleConns = server.DSNOf(name), 8, 0
	pool, err := pgdb.Open(ctx, config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// URL is the connection string of a pool of New, for code that opens its own connections.
func URL(pool *pgxpool.Pool) string { return pool.Config().ConnString() }

// Empty is New without any migration.
func Empty(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return Schemas(t)
}

// prepare returns the server and the name of a database that has the migrations and no connection.
func prepare(ctx context.Context, t testing.TB, schemas []pgdb.Schema) (*pgembed.Server, string) {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil && shared.failure == nil {
		shared.server, shared.release, shared.failure = start(ctx)
		shared.templates = map[string]string{}
	}
	require.NoError(t, shared.failure)
	if len(schemas) == 0 {
		return shared.server, "template1"
	}
	hash := digest(t, schemas)
	if template, ok := shared.templates[hash]; ok {
		return shared.server, template
	}
	template := "template_" + hash
	execute(ctx, t, shared.server, "CREATE DATABASE "+template)
	config := pgdb.DefaultConfig()
	config.URL, config.MinIdleConns = shared.server.DSNOf(template), 0
	pool, err := pgdb.Open(ctx, config)
	require.NoError(t, err)
	defer pool.Close() // a template must have no connection when it is copied
	require.NoError(t, pgdb.Migrate(ctx, pool, schemas...))
	shared.templates[hash] = template
	return shared.server, template
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, t testing.TB, server *pgembed.Server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.DSNOf("postgres"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	require.NoError(t, err, statement)
}
