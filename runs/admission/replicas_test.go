package admission_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// quiet has no signals: the loop reads the queue at each poll.
type quiet struct{}

func (quiet) Ready() <-chan struct{}     { return nil }
func (quiet) Take() (queued, moved bool) { return false, false }

// replica is a writer and an admission loop that compete with others for the lease.
func replica(t *testing.T, pool *pgxpool.Pool, name string, maxLive int) *store.Writer {
	t.Helper()
	writer := store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{
		Pool: pool, Clock: clock.System{}, Logger: zerolog.Nop(), Replica: name, GateLease: admission.LeaseName,
	})
	config := admission.DefaultConfig()
	config.MaxLive, config.Batch, config.Poll, config.Lease = maxLive, 5, 100*time.Millisecond, 600*time.Millisecond
	loop := admission.New(config, admission.Deps{
		Queue: worklists.NewQueueReader(pool), Admit: writer, Gate: writer.Gate(), Several: true,
		Leases: pgdb.NewLeases(pool, clock.System{}, name), Signals: quiet{}, Clock: clock.System{}, Logger: zerolog.Nop(),
	})
	group := lifecycle.NewGroup(lifecycle.Named{Name: "writer", Part: writer}, lifecycle.Named{Name: "admission", Part: loop})
	require.NoError(t, group.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, group.Stop(ctx))
	})
	return writer
}

// TestReplicasShareTheLimitOfTheInstallation: three replicas record actions at the same time, actions end on any of them,
// and the lease goes from hand to hand. Never are more actions live than the limit allows.
func TestReplicasShareTheLimitOfTheInstallation(t *testing.T) {
	const maxLive, all = 20, 150
	pool := pgtest.New(t, store.Migrations())
	var writers []*store.Writer
	for i := range 3 {
		writers = append(writers, replica(t, pool, fmt.Sprint("replica", i), maxLive))
	}
	number := func(query string) (n int) {
		if err := pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	const live = `SELECT count(*) FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL`

	var creating, looking sync.WaitGroup
	for i, w := range writers {
		creating.Go(func() {
			for n := range all / len(writers) {
				name := fmt.Sprintf("r%d-%d", i, n)
				_, _, err := w.CreateRun(t.Context(), store.NewRun{Root: schema.Root{
					Action:        schema.Action{Project: "p", Domain: "d", RunName: name, TaskName: "t"},
					RequestDigest: []byte("digest"), RunOutputBase: "/data/" + name + "/",
				}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	highest, done := 0, make(chan struct{})
	looking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				highest = max(highest, number(live))
			}
		}
	})

	// Actions end only when the limit is reached, so that it is reached again and again. Now and then the lease is taken away.
	for ended := 0; ended < all; {
		require.Eventually(t, func() bool { return number(live) >= min(maxLive, all-ended) }, 30*time.Second, time.Millisecond, "ended %d", ended)
		rows, err := pool.Query(t.Context(), `SELECT run_name FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL LIMIT 15`)
		require.NoError(t, err)
		var names []string
		for rows.Next() {
			var name string
			require.NoError(t, rows.Scan(&name))
			names = append(names, name)
		}
		require.NoError(t, rows.Err())
		for _, name := range names {
			_, err := writers[rand.N(3)].RecordTransitions(t.Context(), []store.Transition{{
				Action: actionID(name, root), To: state.Position{Attempt: 1, Phase: state.Succeeded},
			}})
			require.NoError(t, err)
		}
		ended += len(names)
		_, err = pool.Exec(t.Context(), `DELETE FROM leases`)
		require.NoError(t, err)
	}
	creating.Wait()
	close(done)
	looking.Wait()
	require.LessOrEqual(t, highest, maxLive)
	require.Equal(t, all, number(`SELECT count(*) FROM actions WHERE ended_at IS NOT NULL`))
}
