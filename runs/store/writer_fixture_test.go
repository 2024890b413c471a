package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// writing is a started writer on a fresh database.
type writing struct {
	*store.Writer
	t    testing.TB
	pool *pgxpool.Pool
	live *liveRecorder
}

func newWriting(t testing.TB) *writing {
	t.Helper()
	return writingOn(t, pgtest.New(t, store.Migrations()))
}

func writingOn(t testing.TB, pool *pgxpool.Pool, change ...func(*store.WriterConfig)) *writing {
	t.Helper()
	config := store.DefaultWriterConfig()
	for _, f := range change {
		f(&config)
	}
	w := &writing{t: t, pool: pool, live: &liveRecorder{}}
	w.Writer = store.NewWriter(config, store.WriterDeps{
		Pool: pool, Clock: clock.System{}, Live: w.live, Logger: zerolog.Nop(), Replica: "test",
	})
	w.Gate().Set(1_000_000, 0)
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, w.Stop(ctx))
	})
	return w
}

// liveRecorder accumulates the changes of commits to the live set.
type liveRecorder struct {
	mu   sync.Mutex
	live map[string]string // the cluster of each
}

func (l *liveRecorder) LiveChanged(change store.LiveChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil {
		l.live = map[string]string{}
	}
	for _, ref := range change.Admitted {
		l.live[ref.RunName+"/"+ref.Name] = ref.Cluster
	}
	for _, ref := range change.Ended {
		delete(l.live, ref.RunName+"/"+ref.Name)
	}
}

func (l *liveRecorder) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := []string{}
	for name := range l.live {
		names = append(names, name)
	}
	return names
}

func (l *liveRecorder) clusters() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.live))
}

func runID(name string) ident.Run { return ident.Run{Project: "p", Domain: "d", Name: name} }

func actionID(run, name string) ident.Action { return ident.Action{Run: runID(run), Name: name} }

func newRun(id ident.Run) store.NewRun {
	return store.NewRun{Root: schema.Root{
		Action:        schema.Action{Project: id.Project, Domain: id.Domain, RunName: id.Name, TaskName: "t"},
		RequestDigest: []byte("digest"),
		RunOutputBase: "/data/" + id.String() + "/",
	}}
}

func newChild(run, parent, name string) store.NewAction {
	digest, body := schema.SpecDigest(schema.SpecTask, []byte("spec")), []byte("spec")
	return store.NewAction{
		Action: schema.Action{
			Project: "p", Domain: "d", RunName: run, Name: name, ParentName: &parent, ActionType: 1,
			TaskName: "child", SpecDigest: digest, InputURI: "/data/in/" + name,
		},
		Spec: store.NewSpec{Kind: schema.SpecTask, Digest: digest, Body: body},
	}
}

// create creates a run and the named children of its root.
func (w *writing) create(run string, children ...string) {
	w.t.Helper()
	_, created, err := w.CreateRun(w.t.Context(), newRun(runID(run)))
	require.NoError(w.t, err)
	require.True(w.t, created)
	for _, child := range children {
		w.child(run, ident.RootAction, child)
	}
}

func (w *writing) child(run, parent, name string) {
	w.t.Helper()
	require.NoError(w.t, w.RecordAction(w.t.Context(), newChild(run, parent, name)))
}

func to(run, action string, attempt int32, phase state.Phase) store.Transition {
	return store.Transition{
		Action: actionID(run, action),
		To:     state.Position{Attempt: attempt, Phase: phase},
		Event:  fmt.Appendf(nil, "%s %d %d", action, attempt, phase),
	}
}

// report records transitions in one operation.
func (w *writing) report(transitions ...store.Transition) []store.Outcome {
	w.t.Helper()
	outcomes, err := w.RecordTransitions(w.t.Context(), transitions)
	require.NoError(w.t, err)
	return outcomes
}

func (w *writing) row(run, action string) schema.Action {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `SELECT * FROM actions WHERE project = 'p' AND domain = 'd' AND run_name = $1 AND name = $2`, run, action)
	require.NoError(w.t, err)
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByNameLax[schema.Root])
	require.NoError(w.t, err)
	return r.Action
}

func (w *writing) phase(run, action string) state.Phase {
	w.t.Helper()
	return w.row(run, action).Phase
}

func (w *writing) number(query string, args ...any) int64 {
	w.t.Helper()
	var n int64
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), query, args...).Scan(&n))
	return n
}
