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

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

// shared is the server of this process. It is a global because a server for each test would cost a second
// each, and go test has no other place that outlives one test.
var shared struct {
	mu        sync.Mutex
	server    *pgembed.Server   // GUARDED_BY(mu)
	release   func()            // GUARDED_BY(mu): tells the watcher to clean up
	failure   error             // GUARDED_BY(mu): why there is no server; the first reason stays
	templates map[string]string // GUARDED_BY(mu): hash of migrations, or database of Filled -> database

	idle idleConns
}

// idleConns are kept connections for CREATE and DROP DATABASE. Opening one costs Postgres as much CPU as the statement.
type idleConns struct {
	mu    sync.Mutex
	conns []*pgx.Conn // GUARDED_BY(mu)
}

// take returns an idle connection, or opens a new one.
func (c *idleConns) take(ctx context.Context, server *pgembed.Server) (*pgx.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.conns) - 1; last >= 0 {
		conn := c.conns[last]
		c.conns = c.conns[:last]
		return conn, nil
	}
	return pgx.Connect(ctx, server.DSNOf("postgres"))
}

// put keeps a connection for the next statement, unless it is broken.
func (c *idleConns) put(conn *pgx.Conn) {
	if conn.IsClosed() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
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
	return copyOf(ctx, t, server, template)
}

// Filled is New for tests that start with the same many rows: fill runs once in this process for each name, and each test
// gets a copy of what it filled, with the planner's statistics. A name has lower-case letters, digits and underscores.
func Filled(t testing.TB, migrations fs.FS, name string, fill func(context.Context, *pgxpool.Pool) error) *pgxpool.Pool {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	server, empty := prepare(ctx, t, []pgdb.Schema{{Files: migrations}})
	template := empty + "_" + name
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if _, ok := shared.templates[template]; !ok {
		create(ctx, t, server, template, empty)
		pool := open(ctx, t, server, template)
		defer pool.Close() // also before a failure
		require.NoError(t, fill(ctx, pool))
		pool.Close()
		shared.templates[template] = template
	}
	return copyOf(ctx, t, server, template)
}

// copyOf returns a pool on a copy of a database, which lasts as long as the test.
func copyOf(ctx context.Context, t testing.TB, server *pgembed.Server, template string) *pgxpool.Pool {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	create(ctx, t, server, name, template)
	t.Cleanup(func() { execute(ctx, t, server, fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)) })
	pool := open(ctx, t, server, name)
	t.Cleanup(pool.Close)
	return pool
}

func open(ctx context.Context, t testing.TB, server *pgembed.Server, name string) *pgxpool.Pool {
	t.Helper()
	config := pgdb.DefaultConfig()
	config.URL, config.MaxConns, config.MinIdleConns = server.DSNOf(name), 8, 0
	pool, err := pgdb.Open(ctx, config)
	require.NoError(t, err)
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
	pool := open(ctx, t, shared.server, template)
	defer pool.Close() // a template must have no connection when it is copied
	require.NoError(t, pgdb.Migrate(ctx, pool, schemas...))
	shared.templates[hash] = template
	return shared.server, template
}

// create copies a database. Copying its files takes a quarter of the CPU time that logging all of its pages does, which is the
// default; the checkpoints that it needs cost little where nothing is synced.
func create(ctx context.Context, t testing.TB, server *pgembed.Server, name, template string) {
	t.Helper()
	execute(ctx, t, server, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy", name, template))
}

// execute runs a CREATE or DROP DATABASE.
func execute(ctx context.Context, t testing.TB, server *pgembed.Server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := shared.idle.take(ctx, server)
	require.NoError(t, err)
	defer shared.idle.put(conn)
	_, err = conn.Exec(ctx, statement)
	require.NoError(t, err, statement)
}
