package cloudevents_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// backlog is the runs service's list, as the manager passes it.
type backlog struct{ *worklists.Unpublished }

func (b backlog) Ranges(ctx context.Context, sink string, limit int) ([]cloudevents.Range, error) {
	rows, err := b.Unpublished.Ranges(ctx, sink, limit)
	var found []cloudevents.Range
	for _, row := range rows {
		found = append(found, cloudevents.Range{ID: row.ID, RunID: row.RunID, First: row.First, Last: row.Last})
	}
	return found, err
}

func (b backlog) Events(ctx context.Context, ranges []cloudevents.Range) ([]cloudevents.Event, error) {
	var wanted []worklists.Range
	for _, r := range ranges {
		wanted = append(wanted, worklists.Range{ID: r.ID, RunID: r.RunID, First: r.First, Last: r.Last})
	}
	rows, err := b.Unpublished.Events(ctx, wanted)
	var found []cloudevents.Event
	for _, row := range rows {
		found = append(found, cloudevents.Event{
			RunID: row.RunID, Seq: row.Seq, Action: row.Action, Parent: row.Parent, Type: workflow.ActionType(row.Type), TaskName: row.TaskName,
			Attempt: row.Attempt, Phase: common.ActionPhase(row.Phase), Version: row.Version, At: row.RecordedAt, Error: row.Error,
		})
	}
	return found, err
}

// fixture is a writer of runs, and the service on the same database.
type fixture struct {
	t      testing.TB
	pool   *pgxpool.Pool
	writer *store.Writer
	config cloudevents.Config
	log    zerolog.Logger
}

func newFixture(t testing.TB, sink cloudevents.Sink) *fixture {
	t.Helper()
	f := &fixture{t: t, pool: pgtest.Schemas(t, store.Schema()), log: zerolog.Nop(), config: cloudevents.DefaultConfig()}
	sink.Name = "sink"
	f.config.Sinks = []cloudevents.Sink{sink}
	f.config.Poll, f.config.Timeout = 10*time.Millisecond, 5*time.Second
	f.config.Backoff.First, f.config.Backoff.Max = 10*time.Millisecond, 50*time.Millisecond
	writer := store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{
		Pool: f.pool, Logger: zerolog.Nop(), Replica: "test", EventSinks: f.config.Names(),
	})
	writer.Gate().Set(1_000_000, 0) // actions are admitted at once
	require.NoError(t, writer.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, writer.Stop(context.WithoutCancel(t.Context()))) })
	f.writer = writer
	return f
}

// begin starts the service, as a process that starts does.
func (f *fixture) begin() *cloudevents.Service {
	f.t.Helper()
	s, err := cloudevents.New(f.config, cloudevents.Deps{
		Backlog: backlog{worklists.NewUnpublished(f.pool)}, Leases: pgdb.NewLeases(f.pool, clock.System{}, f.t.Name()+time.Now().String()), Logger: f.log,
	})
	require.NoError(f.t, err)
	require.NoError(f.t, s.Start(f.t.Context()))
	f.t.Cleanup(func() { f.stop(s) })
	return s
}

func (f *fixture) stop(s *cloudevents.Service) {
	require.NoError(f.t, s.Stop(context.WithoutCancel(f.t.Context())))
}

// run creates a run and takes it through its phases; it makes four events.
func (f *fixture) run(name string) {
	f.t.Helper()
	root := schema.Root{Labels: map[string]string{}}
	root.Project, root.Domain, root.RunName, root.TaskName, root.Queue = "p", "d", name, "env.main", "default"
	_, created, err := f.writer.CreateRun(f.t.Context(), store.NewRun{Root: root})
	require.NoError(f.t, err)
	require.True(f.t, created)
	failure, err := proto.Marshal(&core.ExecutionError{Code: "Boom", Message: "it \"broke\"\nbadly"})
	require.NoError(f.t, err)
	for _, phase := range []state.Phase{state.Initializing, state.Running, state.Failed} {
		transition := store.Transition{
			Action: ident.Run{Project: "p", Domain: "d", Name: name}.Root(), To: state.Position{Attempt: 1, Phase: phase},
		}
		if phase == state.Failed {
			transition.Error = failure
		}
		_, err := f.writer.RecordTransitions(f.t.Context(), []store.Transition{transition})
		require.NoError(f.t, err)
	}
}

// received are events as a sink got them.
type received struct {
	mu     sync.Mutex
	events []event
}

type event struct {
	SpecVersion, ID, Source, Type, Subject, PartitionKey, Sequence, DataContentType string
	Time                                                                            time.Time
	Data                                                                            struct {
		Project, Domain, Run, Action, Kind, Task, Phase, Error, ErrorCode string
		Sequence                                                          int64
	}
}

func (r *received) add(t testing.TB, body []byte) {
	var one event
	if err := json.Unmarshal(body, &one); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, one)
}

func (r *received) of(run string) (list []event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.events {
		if one.Data.Run == run {
			list = append(list, one)
		}
	}
	return list
}

// whole reports whether every event of a run arrived, the first time in order.
func (r *received) whole(run string) bool {
	var order []int64
	for _, one := range r.of(run) {
		if !slices.Contains(order, one.Data.Sequence) {
			order = append(order, one.Data.Sequence)
		}
	}
	return slices.Equal(order, []int64{1, 2, 3, 4})
}

func (f *fixture) await(r *received, runs ...string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		var left int
		require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT count(*) FROM event_backlog`).Scan(&left))
		return left == 0 && !slices.ContainsFunc(runs, func(run string) bool { return !r.whole(run) })
	}, 30*time.Second, 10*time.Millisecond)
}
