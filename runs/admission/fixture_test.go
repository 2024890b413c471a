package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// fixture is the real writer and the loop, which runs only when the test calls it, on a fresh database.
type fixture struct {
	*store.Writer
	t     testing.TB
	pool  *pgxpool.Pool
	queue *worklists.QueueReader
	loop  *admission.Loop
	set   *queues.Set
	book  *placement.Book // nil: only queues name clusters
}

func newFixture(t testing.TB, maxLive, batch int, configured ...queues.Queue) *fixture {
	t.Helper()
	return fixtureOn(t, pgtest.New(t, store.Migrations()), maxLive, batch, configured...)
}

func fixtureOn(t testing.TB, pool *pgxpool.Pool, maxLive, batch int, configured ...queues.Queue) *fixture {
	t.Helper()
	f := &fixture{t: t, pool: pool, queue: worklists.NewQueueReader(pool)}
	f.configure(maxLive, batch, configured...)
	return f
}

// configure restarts the writer and the loop with another configuration.
func (f *fixture) configure(maxLive, batch int, configured ...queues.Queue) {
	f.t.Helper()
	require.NoError(f.t, queues.Validate(configured))
	f.set = queues.New(configured)
	writer := store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{
		Pool: f.pool, Clock: clock.System{}, Queues: f.set, Logger: zerolog.Nop(), Replica: "test", Places: f.book,
	})
	require.NoError(f.t, writer.Start(f.t.Context()))
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(f.t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(f.t, writer.Stop(ctx))
	})
	f.Writer = writer
	f.reconfigure(maxLive, batch, configured...)
}

// reconfigure changes the limits of the loop; the gate stays closed.
func (f *fixture) reconfigure(maxLive, batch int, configured ...queues.Queue) {
	f.set = queues.New(configured)
	config := admission.DefaultConfig()
	config.MaxLive, config.Batch = maxLive, batch
	f.loop = admission.New(config, admission.Deps{
		Queue: f.queue, Queues: f.set, Admit: f.Writer, Gate: f.Gate(), Clock: clock.System{}, Logger: zerolog.Nop(),
		Places: f.book, Asks: f.asks(),
	})
}

// drain admits until no action may start.
func (f *fixture) drain() {
	f.t.Helper()
	for {
		n, err := f.loop.Pass(f.t.Context())
		require.NoError(f.t, err)
		if n == 0 {
			return
		}
	}
}

// pass admits one batch.
func (f *fixture) pass() {
	f.t.Helper()
	_, err := f.loop.Pass(f.t.Context())
	require.NoError(f.t, err)
}

func runID(name string) ident.Run {
	return ident.Run{Project: projectOf(name), Domain: "d", Name: name}
}

// projectOf is what is before the dot in the name of a run; p without one.
func projectOf(run string) string {
	if project, _, named := strings.Cut(run, "."); named {
		return project
	}
	return "p"
}

func actionID(run, name string) ident.Action { return ident.Action{Run: runID(run), Name: name} }

// run creates a run; change may be nil.
func (f *fixture) run(name, queue string, change func(*schema.Root)) {
	f.t.Helper()
	require.NoError(f.t, f.tryRun(name, queue, change))
}

func (f *fixture) tryRun(name, queue string, change func(*schema.Root)) error {
	run := store.NewRun{Root: schema.Root{
		Action:        schema.Action{Project: projectOf(name), Domain: "d", RunName: name, TaskName: "t", Queue: queue},
		RequestDigest: []byte("digest"), RunOutputBase: "/data/" + name + "/",
	}}
	if change != nil {
		change(&run.Root)
	}
	_, _, err := f.CreateRun(f.t.Context(), run)
	return err
}

func (f *fixture) child(run, parent, name, queue string) {
	f.t.Helper()
	require.NoError(f.t, f.tryChild(run, parent, name, queue, nil))
}

func (f *fixture) tryChild(run, parent, name, queue string, change func(*schema.Action)) error {
	spec := []byte("spec")
	digest := schema.SpecDigest(schema.SpecTask, spec)
	a := store.NewAction{
		Action: schema.Action{
			Project: projectOf(run), Domain: "d", RunName: run, Name: name, ParentName: &parent, ActionType: 1,
			TaskName: "child", SpecDigest: digest, Queue: queue,
		},
		Spec: store.NewSpec{Kind: schema.SpecTask, Digest: digest, Body: spec},
	}
	if change != nil {
		change(&a.Action)
	}
	return f.RecordAction(f.t.Context(), a)
}

func (f *fixture) children(run, parent string, n int, queue string) {
	f.t.Helper()
	for i := range n {
		f.child(run, parent, fmt.Sprintf("%s-%d", parent, i), queue)
	}
}

// end completes an action successfully.
func (f *fixture) end(run string, names ...string) {
	f.t.Helper()
	for _, name := range names {
		_, err := f.RecordTransitions(f.t.Context(), []store.Transition{{
			Action: actionID(run, name), To: state.Position{Attempt: 1, Phase: state.Succeeded},
		}})
		require.NoError(f.t, err)
	}
}

// live lists the live actions as run/name, in admission order.
func (f *fixture) live() []string {
	f.t.Helper()
	rows, err := f.pool.Query(f.t.Context(),
		`SELECT run_name || '/' || name FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL ORDER BY admitted_at, id`)
	require.NoError(f.t, err)
	names := []string{}
	for rows.Next() {
		var name string
		require.NoError(f.t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(f.t, rows.Err())
	return names
}
