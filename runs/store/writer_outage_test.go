package store_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pgembed"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// durable is a writer on its own Postgres that syncs to disk.
func durable(t testing.TB) (*pgembed.Server, *writing) {
	t.Helper()
	dir, err := os.MkdirTemp("", "writer") // as root, the server's user cannot read t.TempDir
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	server, err := pgembed.New(pgembed.Config{DataDir: dir + "/pg", Restart: true})
	require.NoError(t, err)
	require.NoError(t, server.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
	})
	config := pgdb.DefaultConfig()
	config.URL = server.DSN()
	pool, err := pgdb.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, pgdb.Migrate(t.Context(), pool, store.Schema()))
	return server, writingOn(t, pool)
}

// Story R14: a failed enqueue was swallowed: the run was acknowledged and stayed queued forever.
func TestNothingAcknowledgedIsLostWhenPostgresDies(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database that syncs")
	}
	server, w := durable(t)
	w.create("r")
	const callers, each = 16, 60
	var acknowledged sync.Map
	var count atomic.Int64
	killed := make(chan struct{})
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("c-%d-%d", caller, i)
				if err := w.RecordAction(t.Context(), newChild("r", "a0", name)); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				acknowledged.Store(name, true)
				if count.Add(1) == callers*each/3 {
					close(killed)
				}
			}
		})
	}
	<-killed
	require.NoError(t, syscall.Kill(server.Pid(), syscall.SIGKILL))
	wg.Wait() // every call succeeded after the server came back

	stored := map[string]bool{}
	rows, err := w.pool.Query(t.Context(), `SELECT name FROM actions WHERE parent_name = 'a0'`)
	require.NoError(t, err)
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		stored[name] = true
	}
	require.NoError(t, rows.Err())
	acknowledged.Range(func(name, _ any) bool {
		require.True(t, stored[name.(string)], "%s was acknowledged", name)
		return true
	})
	require.Len(t, stored, callers*each)
	assertNoGaps(t, w)
	require.Equal(t, []store.Outcome{store.OutcomeApplied}, w.report(to("r", "c-0-0", 1, state.Running)))
}

func TestOutageEndsCallsAtTheirDeadline(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database that syncs")
	}
	server, w := durable(t)
	w.create("r")
	require.NoError(t, server.Stop(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := w.RecordAction(ctx, newChild("r", "a0", "c"))
	require.ErrorContains(t, err, "not confirmed in time")
}
