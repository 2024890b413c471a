package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

func TestCreateRunIsIdempotentByContent(t *testing.T) {
	w := newWriting(t)
	first, created, err := w.CreateRun(t.Context(), newRun(runID("r1")))
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, state.Queued, first.Phase)
	require.NotNil(t, first.AdmittedAt, "nothing holds it back")

	_, created, err = w.CreateRun(t.Context(), newRun(runID("r1")))
	require.NoError(t, err)
	require.False(t, created)

	other := newRun(runID("r1"))
	other.Root.RequestDigest = []byte("other")
	_, _, err = w.CreateRun(t.Context(), other)
	require.Equal(t, rpc.KindAlreadyExists, rpc.KindOf(err))
	require.EqualValues(t, 1, w.number(`SELECT count(*) FROM actions`))
	require.EqualValues(t, 1, w.number(`SELECT count(*) FROM action_events`))
}

// Story R22: two runs of one name in different projects shared an object of the cluster.
func TestSameRunNameInTwoProjects(t *testing.T) {
	w := newWriting(t)
	w.create("same")
	_, created, err := w.CreateRun(t.Context(), newRun(ident.Run{Project: "q", Domain: "d", Name: "same"}))
	require.NoError(t, err)
	require.True(t, created)
	_, created, err = w.CreateRun(t.Context(), newRun(ident.Run{Project: "p", Domain: "e", Name: "same"}))
	require.NoError(t, err)
	require.True(t, created)

	require.NoError(t, w.Abort(t.Context(), store.Abort{Action: actionID("same", "a0"), Reason: "test"}))
	require.EqualValues(t, 2, w.number(`SELECT count(*) FROM actions WHERE phase = $1`, state.Queued))
}

// Story R27: aborts lived in the memory of one process, and a second replica did all work twice.
func TestTwoReplicasCreateTheSameRun(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	writers := []*writing{writingOn(t, pool), writingOn(t, pool)}
	for i := range 20 {
		var wg sync.WaitGroup
		var created [2]bool
		for j, w := range writers {
			wg.Go(func() {
				var err error
				_, created[j], err = w.CreateRun(t.Context(), newRun(runID(fmt.Sprint("r", i))))
				require.NoError(t, err)
			})
		}
		wg.Wait()
		require.NotEqual(t, created[0], created[1], "exactly one creates run %d", i)
	}
}

func TestConcurrentDuplicatesCreateOneAction(t *testing.T) {
	w := newWriting(t)
	w.create("r")
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() { require.NoError(t, w.RecordAction(t.Context(), newChild("r", "a0", "c"))) })
	}
	wg.Wait()
	require.EqualValues(t, 1, w.number(`SELECT count(*) FROM actions WHERE name = 'c'`))
	require.EqualValues(t, 2, w.number(`SELECT count(*) FROM action_events`))
	require.EqualValues(t, 1, w.number(`SELECT count(*) FROM specs`))
}

func TestRecordActionErrors(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	record := func(run, parent, name string) rpc.Kind {
		err := w.RecordAction(t.Context(), newChild(run, parent, name))
		require.Error(t, err)
		return rpc.KindOf(err)
	}
	require.Equal(t, rpc.KindNotFound, record("none", "a0", "x"))
	require.Equal(t, rpc.KindNotFound, record("r", "none", "x"))
	require.Equal(t, rpc.KindInvalidArgument, record("r", "c", "c"), "the same name below another parent")

	w.report(to("r", "c", 1, state.Succeeded))
	require.Equal(t, rpc.KindAborted, record("r", "c", "x"), "the parent has ended")
	w.child("r", "a0", "c") // a repeated request for a finished child is fine

	require.NoError(t, w.Abort(t.Context(), store.Abort{Action: actionID("r", "a0"), Reason: "test"}))
	require.Equal(t, rpc.KindAborted, record("r", "a0", "y"), "the run was aborted")
}

// A program that names another subject would put its actions into the lists of that one, and into its place in the queue.
func TestAChildIsOfTheCreatorOfItsRun(t *testing.T) {
	w := newWriting(t)
	run := newRun(runID("r"))
	run.Root.CreatedBySubject = "ada"
	_, _, err := w.CreateRun(t.Context(), run)
	require.NoError(t, err)
	child := newChild("r", "a0", "c")
	child.Action.CreatedBySubject = "bob"
	require.NoError(t, w.RecordAction(t.Context(), child))
	require.Equal(t, "ada", w.row("r", "c").CreatedBySubject)
}

func TestBadOperationFailsAlone(t *testing.T) {
	w := newWriting(t)
	w.create("r")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			require.NoError(t, w.RecordAction(t.Context(), newChild("r", "a0", fmt.Sprint("c", i))))
		})
		wg.Go(func() {
			bad := newChild("r", "a0", fmt.Sprint("bad", i))
			bad.Action.ActionGroup = "no zero\x00byte fits into text"
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(w.RecordAction(t.Context(), bad)))
		})
	}
	wg.Wait()
	require.EqualValues(t, 50, w.number(`SELECT count(*) FROM actions WHERE parent_name = 'a0'`))
	assertNoGaps(t, w)
}

func TestSequenceHasNoGapsUnderConcurrency(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	writers := []*writing{writingOn(t, pool), writingOn(t, pool)}
	writers[0].create("r1")
	writers[0].create("r2")
	var wg sync.WaitGroup
	for i := range 100 {
		w, run, name := writers[i%2], fmt.Sprint("r", 1+i%2), fmt.Sprint("c", i)
		if i%3 == 0 {
			w = writers[0]
		}
		wg.Go(func() {
			w.child(run, "a0", name)
			w.report(to(run, name, 1, state.Running))
			w.report(to(run, name, 1, state.Failed), to(run, name, 2, state.Queued))
			w.report(to(run, name, 2, state.Succeeded))
		})
	}
	wg.Wait()
	assertNoGaps(t, writers[0])
	require.EqualValues(t, 2+100*5, writers[0].number(`SELECT count(*) FROM action_events`))
}

// assertNoGaps checks the log of every run against the rows.
func assertNoGaps(t *testing.T, w *writing) {
	t.Helper()
	require.Zero(t, w.number(`
		SELECT count(*) FROM (SELECT run_id, count(*) AS n, min(seq) AS low, max(seq) AS high FROM action_events GROUP BY run_id) e
		JOIN actions r ON r.id = e.run_id WHERE low <> 1 OR high <> n OR high <> r.last_seq`))
	require.Zero(t, w.number(`
		SELECT count(*) FROM actions a WHERE parent_name IS NOT NULL
		AND last_seq <> (SELECT max(seq) FROM action_events e WHERE e.action_id = a.id)`))
}

func TestQueueIsBounded(t *testing.T) {
	config := store.DefaultWriterConfig()
	config.MaxBatch, config.MaxQueue = 1, 1
	w := store.NewWriter(config, store.WriterDeps{Pool: pgtest.New(t, store.Migrations())})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := w.CreateRun(ctx, newRun(runID("r"))) // the writer is not started
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err))
	_, _, err = w.CreateRun(t.Context(), newRun(runID("r")))
	require.Equal(t, rpc.KindResourceExhausted, rpc.KindOf(err))
}

func TestStopCommitsWaitingOperations(t *testing.T) {
	w := newWriting(t)
	w.create("r")
	var wg sync.WaitGroup
	var stored sync.Map
	for i := range 200 {
		wg.Go(func() {
			name := fmt.Sprint("c", i)
			if err := w.RecordAction(t.Context(), newChild("r", "a0", name)); err == nil {
				stored.Store(name, true)
			} else {
				require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err))
			}
		})
	}
	require.NoError(t, w.Stop(t.Context()))
	wg.Wait()
	var acknowledged int64
	stored.Range(func(any, any) bool { acknowledged++; return true })
	require.Equal(t, acknowledged, w.number(`SELECT count(*) FROM actions WHERE parent_name = 'a0'`))
	require.NoError(t, w.Stop(t.Context()), "twice is fine")
}
