package manager_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
)

// measured is a server whose database writes to the disk, as in production.
type measured struct {
	url, storage string
	people       connect.HTTPClient // those who create runs
	task         connect.HTTPClient // the parent of children
	db           *pgx.Conn
}

// startMeasured starts a server with a database of its own, with access on or off, and a run whose children are enqueued.
func startMeasured(b *testing.B, postgres *pgembed.Server, name string, on bool) *measured {
	b.Helper()
	pgtest.Exec(b, postgres.DSN(), "CREATE DATABASE "+name)
	config := testConfig(b)
	config.Database.URL = postgres.DSNOf(name)
	config.Access.Limits.RunsPerMinute, config.Access.Limits.RequestsPerSecond, config.Runs.Backlog.WaitingRuns = 0, 0, 0
	options := manager.Options{Logger: zerolog.Nop(), REST: nowhere(b)}
	m := &measured{storage: config.Storage.URL, people: http.DefaultClient, task: http.DefaultClient}
	if on {
		config.Access.Bindings = []access.BindingConfig{{User: "ada", Role: "operator"}}
		options.Authenticator = byName{}
		m.people, m.task = as("ada"), as("task of parent")
	}
	server, err := manager.Complete(b.Context(), config, options)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Stop(context.WithoutCancel(b.Context()))) })
	require.NoError(b, server.Start(b.Context()))
	m.url = "http://" + server.Addr()
	m.db, err = pgx.Connect(b.Context(), config.Database.URL)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, m.db.Close(context.WithoutCancel(b.Context()))) })
	_, err = projectconnect.NewProjectServiceClient(m.people, m.url).CreateProject(b.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: "mine"}})
	require.NoError(b, err)
	require.NoError(b, m.createRun(b.Context(), "parent"))
	return m
}

func measuredSpec() *task.TaskSpec {
	return &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
		Id:   &core.Identifier{Project: "mine", Domain: "development", Name: "hello.main", Version: "1"},
		Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
	}}
}

func (m *measured) createRun(ctx context.Context, name string) error {
	_, err := workflowconnect.NewRunServiceClient(m.people, m.url).CreateRun(ctx, &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: runOf("mine", name)}, Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: measuredSpec()},
	})
	return err
}

func (m *measured) enqueue(ctx context.Context, name string) error {
	parent, base := "a0", m.storage+"/mine/development/parent/"
	_, err := actionsconnect.NewActionsServiceClient(m.task, m.url).Enqueue(ctx, &actions.EnqueueRequest{Action: &actions.Action{
		ActionId: &common.ActionIdentifier{Run: runOf("mine", "parent"), Name: name}, ParentActionName: &parent,
		RunOutputBase: base, InputUri: base + name + "/inputs.pb", Spec: &actions.Action_Task{Task: &workflow.TaskAction{Spec: measuredSpec()}},
	}})
	return err
}

// recorded is how many events the chain of a server has.
func (m *measured) recorded(b *testing.B) (events int) {
	b.Helper()
	require.NoError(b, m.db.QueryRow(b.Context(), `SELECT last FROM access_audit_chain`).Scan(&events))
	return events
}

// kind is a kind of call that is measured.
type kind struct {
	name           string
	callers, calls int // of a round
	call           func(*measured, context.Context, string) error
	events         int // in the record for each call
}

// make makes the calls of a round. Their names begin with one that no other round has.
func (k kind) make(b *testing.B, m *measured, names string) {
	b.Helper()
	var callers sync.WaitGroup
	for caller := range k.callers {
		callers.Go(func() {
			for i := caller; i < k.calls; i += k.callers {
				if err := k.call(m, b.Context(), fmt.Sprint(names, i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	callers.Wait()
}

// BenchmarkAccessCosts creates runs and enqueues children with access off and on, and reports how much more they cost with access on.
// One iteration is four rounds, on two servers with access off and two with access on: off on on off, and next time on off off on, so
// that neither the place of a server nor the time at which its round comes favours one side.
func BenchmarkAccessCosts(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, os.Chmod(filepath.Dir(dir), 0o711)) // Postgres may run as another user
	postgres, err := pgembed.New(pgembed.Config{DataDir: filepath.Join(dir, "postgres"), MaxConnections: 200, Log: zerolog.Nop()})
	require.NoError(b, err)
	require.NoError(b, postgres.Start(b.Context()))
	b.Cleanup(func() { require.NoError(b, postgres.Stop(context.WithoutCancel(b.Context()))) })
	// The first change of a page after a checkpoint writes the whole page, into whichever round it falls.
	pgtest.Exec(b, postgres.DSN(), `ALTER SYSTEM SET checkpoint_timeout = '1d'`)
	pgtest.Exec(b, postgres.DSN(), `ALTER SYSTEM SET max_wal_size = '32GB'`)
	pgtest.Exec(b, postgres.DSN(), `SELECT pg_reload_conf()`)
	off1, on1 := startMeasured(b, postgres, "off1", false), startMeasured(b, postgres, "on1", true)
	on2, off2 := startMeasured(b, postgres, "on2", true), startMeasured(b, postgres, "off2", false)
	b.Cleanup(http.DefaultClient.CloseIdleConnections)
	rounds := 0
	for _, k := range []kind{
		{"CreateRun/callers=1", 1, 400, (*measured).createRun, 1},
		{"CreateRun/callers=32", 32, 1000, (*measured).createRun, 1},
		{"fan-out/callers=1", 1, 400, (*measured).enqueue, 0},
		{"fan-out/callers=32", 32, 2000, (*measured).enqueue, 0},
	} {
		b.Run(k.name, func(b *testing.B) {
			round := func(m *measured) cost {
				rounds++
				return measure(b, postgres, m, k, fmt.Sprintf("r%dx", rounds))
			}
			for _, warm := range []*measured{off1, on1, on2, off2} {
				round(warm)
			}
			var pairs []pair
			for b.Loop() {
				var off, on [2]cost
				if len(pairs)%2 == 0 {
					off[0], on[0], on[1], off[1] = round(off1), round(on1), round(on2), round(off2)
				} else {
					on[0], off[0], off[1], on[1] = round(on1), round(off1), round(off2), round(on2)
				}
				pairs = append(pairs, pair{off: off[0].plus(off[1]), on: on[0].plus(on[1])})
			}
			b.ReportMetric(0, "ns/op") // it is of four rounds with their pauses
			report(b, "time", "µs", 2*k.calls, pairs, func(c cost) float64 { return float64(c.time.Microseconds()) })
			report(b, "CPU", "µs", 2*k.calls, pairs, func(c cost) float64 { return float64(c.cpu.Microseconds()) })
			report(b, "WAL", "bytes", 2*k.calls, pairs, func(c cost) float64 { return float64(c.wal) })
		})
	}
}
