package watch_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

// Short names of the phases.
const (
	queued    = common.ActionPhase_ACTION_PHASE_QUEUED
	running   = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	failed    = common.ActionPhase_ACTION_PHASE_FAILED
	aborted   = common.ActionPhase_ACTION_PHASE_ABORTED
	timedOut  = common.ActionPhase_ACTION_PHASE_TIMED_OUT
	pausedNow = common.ActionPhase_ACTION_PHASE_PAUSED
)

// countingReader counts the reads of logs and details.
type countingReader struct {
	*watches.Reader
	changes, children atomic.Int64
	hold              atomic.Pointer[chan struct{}] // when set, reads of logs wait for it
	holdRoots         atomic.Pointer[chan struct{}] // when set, what was read of changed runs waits for it
	heldRoots         atomic.Int64                  // how many wait
	beforeRows        atomic.Pointer[func()]        // called once, before rows are read by id
}

// RootsByID reads, and may wait until the result is stale before it returns it.
func (c *countingReader) RootsByID(ctx context.Context, ids []int64) ([]*lists.Listed, error) {
	rows, err := c.Reader.RootsByID(ctx, ids)
	if hold := c.holdRoots.Load(); hold != nil {
		c.heldRoots.Add(1)
		<-*hold
	}
	return rows, err
}

func (c *countingReader) Changes(ctx context.Context, runID, after int64, limit int) ([]watches.Change, int64, bool, error) {
	c.changes.Add(1)
	if hold := c.hold.Load(); hold != nil {
		select {
		case <-*hold:
		case <-ctx.Done():
			return nil, after, false, ctx.Err()
		}
	}
	return c.Reader.Changes(ctx, runID, after, limit)
}

func (c *countingReader) Children(ctx context.Context, runID int64, parent string, since, afterID int64, limit int) ([]*schema.Action, error) {
	c.children.Add(1)
	return c.Reader.Children(ctx, runID, parent, since, afterID, limit)
}

func (c *countingReader) ActionsByID(ctx context.Context, ids []int64) ([]*lists.Listed, error) {
	if before := c.beforeRows.Swap(nil); before != nil {
		(*before)()
	}
	return c.Reader.ActionsByID(ctx, ids)
}

// countingDetails makes details as the service does.
type countingDetails struct {
	reader *lists.Reader
	reads  atomic.Int64
}

func (c *countingDetails) ActionDetails(ctx context.Context, id ident.Action) (*workflow.ActionDetails, error) {
	c.reads.Add(1)
	d, err := c.reader.ActionDetails(ctx, id)
	if err != nil {
		return nil, err
	}
	return protomap.Details(&d.Action, d.Spec, d.Events)
}

func (c *countingDetails) RunDetails(ctx context.Context, run ident.Run) (*workflow.RunDetails, error) {
	action, err := c.ActionDetails(ctx, run.Root())
	return &workflow.RunDetails{RunSpec: &task.RunSpec{}, Action: action}, err
}

// fixture is a hub with its streams on a database of its own.
type fixture struct {
	t       testing.TB
	pool    *pgxpool.Pool
	clock   clock.Clock
	config  watch.Config
	reader  *countingReader
	details *countingDetails
	hub     *watch.Hub
	streams *watch.Streams

	// How a commit is announced: to the local hub, through Postgres.
	wake, notify atomic.Bool
}

type option func(*fixture, *watch.HubDeps)

func withClock(c clock.Clock) option {
	return func(f *fixture, d *watch.HubDeps) { f.clock, d.Clock = c, c }
}

func withConfig(change func(*watch.Config)) option {
	return func(f *fixture, _ *watch.HubDeps) { change(&f.config) }
}

// withListener notifies the hub of commits from Postgres only.
func withListener() option {
	return func(f *fixture, _ *watch.HubDeps) {
		f.wake.Store(false)
		f.notify.Store(true)
	}
}

// listenFor passes notifications of Postgres to a hub.
func (f *fixture) listenFor(hub *watch.Hub) {
	listener := pgdb.NewListener(f.pool, clock.System{}, zerolog.Nop(), map[string]func(pgdb.Notification){notices.ChannelRuns: hub.Heard})
	require.NoError(f.t, listener.Start(f.t.Context()))
	f.t.Cleanup(func() { require.NoError(f.t, listener.Stop(context.WithoutCancel(f.t.Context()))) })
}

// newFixture starts a hub. Without options it is woken by the writer, and the poll is too rare to help.
func newFixture(t testing.TB, options ...option) *fixture {
	t.Helper()
	f := &fixture{t: t, pool: pgtest.New(t, os.DirFS("../store/migrations")), clock: clock.System{}, config: watch.DefaultConfig()}
	f.config.Poll = time.Hour
	f.config.Window = 10 * time.Millisecond
	f.wake.Store(true)
	f.reader = &countingReader{Reader: watches.NewReader(f.pool)}
	f.details = &countingDetails{reader: lists.NewReader(f.pool)}
	deps := watch.HubDeps{Log: f.reader, Clock: f.clock, Logger: zerolog.Nop()}
	for _, o := range options {
		o(f, &deps)
	}
	require.NoError(t, f.config.Validate())
	f.hub, f.streams = f.newHub(deps)
	if f.notify.Load() {
		f.listenFor(f.hub)
	}
	return f
}

func (f *fixture) newHub(deps watch.HubDeps) (*watch.Hub, *watch.Streams) {
	hub := watch.NewHub(f.config, deps)
	require.NoError(f.t, hub.Start(f.t.Context()))
	f.t.Cleanup(func() {
		require.NoError(f.t, hub.Stop(context.WithoutCancel(f.t.Context())))
		require.Zero(f.t, hub.Feeds(), "every feed is freed with its last subscriber")
	})
	return hub, watch.NewStreams(f.config, watch.Deps{
		Hub: hub, Reader: f.reader, Details: f.details, Clock: f.clock,
	})
}

// run is a run in the database, with what the tests write through.
type run struct {
	f  *fixture
	id int64
	ident.Run
}

func (f *fixture) run(project, domain, name string) *run {
	return f.taskRun(project, domain, name, "env.main", "v1")
}

func (f *fixture) taskRun(project, domain, name, task, version string) *run {
	f.t.Helper()
	r := &run{f: f, Run: ident.Run{Project: project, Domain: domain, Name: name}}
	spec, err := proto.Marshal(&workflow.ConditionAction{Name: "gate", Type: &core.LiteralType{
		Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN},
	}})
	require.NoError(f.t, err)
	f.exec(`INSERT INTO specs (digest, kind, body) VALUES ('condition', 3, $1) ON CONFLICT DO NOTHING`, spec)
	f.exec(`INSERT INTO specs (digest, kind, body) VALUES ('run', 4, '') ON CONFLICT DO NOTHING`)
	f.inTx(func(tx pgx.Tx) {
		now := f.clock.Now()
		require.NoError(f.t, tx.QueryRow(f.t.Context(), `SELECT nextval('actions_id_seq')`).Scan(&r.id))
		f.execTx(tx, `INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, task_project, task_domain,
				task_name, task_version, short_name, created_at, updated_at, last_seq, run_spec_digest, labels)
			VALUES ($1, $1, $2, $3, $4, 'a0', 1, 1, $2, $3, $5, $6, split_part($5, '.', 2), $7, $7, 1, 'run', '{"team": "x"}')`,
			r.id, project, domain, name, task, version, now)
		f.execTx(tx, `INSERT INTO action_events (run_id, seq, action_id, attempt, phase, version, recorded_at)
			VALUES ($1, 1, $1, 1, 1, 0, $2)`, r.id, now)
		f.tell(tx, r.id)
	})
	f.woken(r.id)
	return r
}

// change is one write of one action, as the writer does it: an event and the row in one transaction.
type change struct {
	name   string
	parent string              // set: the action is new
	kind   workflow.ActionType // of a new action; a task by default
	task   string              // of a new action
	phase  common.ActionPhase
	// attempt defaults to 1.
	attempt int32
	output  string
	error   *core.ExecutionError
	signal  *workflow.SignalInfo
	event   *workflow.ActionEvent
	created time.Time // defaults to now
}

func (r *run) child(name string) { r.apply(change{name: name, parent: "a0", phase: queued}) }

func (r *run) move(name string, phase common.ActionPhase) { r.apply(change{name: name, phase: phase}) }

// apply commits changes in one transaction, under the lock of the root row, and announces it.
func (r *run) apply(changes ...change) {
	f := r.f
	f.t.Helper()
	f.inTx(func(tx pgx.Tx) {
		var seq int64
		require.NoError(f.t, tx.QueryRow(f.t.Context(), `SELECT last_seq FROM actions WHERE id = $1 FOR UPDATE`, r.id).Scan(&seq))
		for _, c := range changes {
			seq++
			r.write(tx, seq, c)
		}
		f.execTx(tx, `UPDATE actions SET last_seq = $2 WHERE id = $1`, r.id, seq)
		f.tell(tx, r.id)
	})
	f.woken(r.id)
}

func (r *run) write(tx pgx.Tx, seq int64, c change) {
	f := r.f
	f.t.Helper()
	now := f.clock.Now()
	if c.attempt == 0 {
		c.attempt = 1
	}
	if c.created.IsZero() {
		c.created = now
	}
	var ended *time.Time
	if isEnd(c.phase) {
		ended = &now
	}
	var id int64
	if c.parent != "" {
		kind := c.kind
		if kind == 0 {
			kind = workflow.ActionType_ACTION_TYPE_TASK
		}
		var spec []byte
		if kind == workflow.ActionType_ACTION_TYPE_CONDITION {
			spec = []byte("condition")
		}
		f.execTx(tx, `INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, task_name,
				spec_digest, created_at, updated_at)
			VALUES (nextval('actions_id_seq'), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			r.id, r.Project, r.Domain, r.Name, c.name, c.parent, kind, c.phase, c.task, spec, c.created, now)
	}
	require.NoError(f.t, tx.QueryRow(f.t.Context(), `
		UPDATE actions SET phase = $3::smallint, attempt = $4, last_seq = $5, updated_at = $6, ended_at = $7, output_uri = $8, error = $9, signal = $10,
			started_at = CASE WHEN $3::smallint = 4 THEN coalesce(started_at, $6) ELSE started_at END
		WHERE run_id = $1 AND name = $2 RETURNING id`,
		r.id, c.name, int16(c.phase), c.attempt, seq, now, ended, c.output, encode(f.t, c.error), encode(f.t, c.signal)).Scan(&id))
	f.execTx(tx, `INSERT INTO action_events (run_id, seq, action_id, attempt, phase, version, recorded_at, event, error)
		VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8)`, r.id, seq, id, c.attempt, c.phase, now, encode(f.t, c.event), encode(f.t, c.error))
}

func isEnd(phase common.ActionPhase) bool {
	switch phase {
	case succeeded, failed, aborted, timedOut, common.ActionPhase_ACTION_PHASE_RECOVERED:
		return true
	default:
		return false
	}
}

func encode[M proto.Message](t testing.TB, message M) []byte {
	t.Helper()
	if !message.ProtoReflect().IsValid() {
		return nil
	}
	body, err := proto.Marshal(message)
	require.NoError(t, err)
	return body
}

func (f *fixture) inTx(do func(pgx.Tx)) {
	f.t.Helper()
	require.NoError(f.t, pgx.BeginFunc(f.t.Context(), f.pool, func(tx pgx.Tx) error {
		do(tx)
		return nil
	}))
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	_, err := f.pool.Exec(f.t.Context(), sql, args...)
	require.NoError(f.t, err)
}

func (f *fixture) execTx(tx pgx.Tx, sql string, args ...any) {
	f.t.Helper()
	_, err := tx.Exec(f.t.Context(), sql, args...)
	require.NoError(f.t, err)
}

func (f *fixture) tell(tx pgx.Tx, id int64) {
	if f.notify.Load() {
		f.execTx(tx, `SELECT pg_notify($1, $2)`, notices.ChannelRuns, fmt.Sprint(id))
	}
}

func (f *fixture) woken(id int64) {
	if f.wake.Load() {
		f.hub.Wake(id)
	}
}
