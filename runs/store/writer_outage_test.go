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

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// durable is a writer on its own Postgres that syncs to disk.
func durable(t testing.TB, change ...func(*store.WriterConfig)) (*pgembed.Server, *writing) {
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
	return server, writingOn(t, pool, change...)
}

// freeze stops all processes of a server, as a machine or a disk does that hangs: connections stay open, and nothing is
// answered on them or on new ones. The function that it returns lets them continue.
func freeze(t testing.TB, server *pgembed.Server, pool *pgxpool.Pool) func() {
	t.Helper()
	pids := []int{server.Pid()}
	thaw := func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT) // some have ended with their connections
		}
	}
	t.Cleanup(thaw)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	require.NoError(t, syscall.Kill(server.Pid(), syscall.SIGSTOP)) // first, so that it starts no more
	rows, err := conn.Query(t.Context(), `SELECT pid FROM pg_stat_activity`)
	require.NoError(t, err)
	others, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	for _, pid := range others {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	pids = append(pids, others...)
	return thaw
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

// TestFrozenPostgresLosesNothing: Postgres neither dies nor answers. Callers have an answer at their deadline; when it
// continues, so do writes, and everything that was acknowledged is there once.
func TestFrozenPostgresLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database that syncs")
	}
	server, w := durable(t, func(c *store.WriterConfig) { c.CommitTimeout = 300 * time.Millisecond })
	w.create("r")
	insist := func(name string, refused func()) error {
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := w.RecordAction(ctx, newChild("r", "a0", name))
			cancel()
			if err == nil || rpc.KindOf(err) != rpc.KindUnavailable {
				return err
			}
			refused()
		}
	}
	const callers, before, after = 8, 10, 5
	var acknowledged atomic.Int64
	frozen := make(chan struct{})
	var all, started, answered sync.WaitGroup
	started.Add(callers)
	answered.Add(callers)
	for caller := range callers {
		all.Go(func() {
			ready, told := sync.OnceFunc(started.Done), sync.OnceFunc(answered.Done)
			defer ready()
			defer told()
			for i := range before + after {
				refused := func() {}
				if i == before {
					ready()
					<-frozen
					refused = told
				}
				if err := insist(fmt.Sprintf("c-%d-%d", caller, i), refused); err != nil {
					t.Errorf("child %d of %d: %v", i, caller, err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	started.Wait()
	thaw := freeze(t, server, w.pool)
	close(frozen)
	answered.Wait() // all of them were refused while nothing was stored
	require.EqualValues(t, callers*before, acknowledged.Load())
	thaw()
	all.Wait()
	require.EqualValues(t, callers*(before+after), acknowledged.Load())
	require.EqualValues(t, callers*(before+after), w.number(`SELECT count(*) FROM actions WHERE parent_name = 'a0'`))
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
	require.ErrorContains(t, err, "timed out while storing the change")
}
