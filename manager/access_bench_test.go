package manager_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
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
}

// startMeasured starts a server with a database of its own, with access on or off, and a run whose children are enqueued.
func startMeasured(b *testing.B, postgres *pgembed.Server, name string, on bool) *measured {
	b.Helper()
	pgtest.Exec(b, postgres.DSN(), "CREATE DATABASE "+name)
	config := testConfig(b)
	config.Database.URL = postgres.DSNOf(name)
	config.Access.Limits.RunsPerMinute, config.Access.Limits.RequestsPerSecond = 0, 0
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

// cost is what a call takes, in microseconds: of the clock, and of the processor in this process, its client included. What Postgres
// takes is in the time alone.
type cost struct{ time, cpu float64 }

// measure returns what one of some calls takes.
func measure(b *testing.B, calls int, work func()) cost {
	b.Helper()
	began, before := time.Now(), cpuTime(b)
	work()
	return cost{
		time: float64(time.Since(began).Microseconds()) / float64(calls),
		cpu:  float64((cpuTime(b) - before).Microseconds()) / float64(calls),
	}
}

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkAccessCosts creates runs and enqueues children with access off and on, alternately, and reports how much longer they take
// with access on, and how much more of the processor: the median of the rounds. One iteration is one round.
func BenchmarkAccessCosts(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, os.Chmod(filepath.Dir(dir), 0o711)) // Postgres may run as another user
	postgres, err := pgembed.New(pgembed.Config{DataDir: filepath.Join(dir, "postgres"), MaxConnections: 100, Log: zerolog.Nop()})
	require.NoError(b, err)
	require.NoError(b, postgres.Start(b.Context()))
	b.Cleanup(func() { require.NoError(b, postgres.Stop(context.WithoutCancel(b.Context()))) })
	off, on := startMeasured(b, postgres, "access_off", false), startMeasured(b, postgres, "access_on", true)
	b.Cleanup(http.DefaultClient.CloseIdleConnections)
	created := 0
	for _, c := range []struct {
		name           string
		callers, calls int
		call           func(*measured, context.Context, string) error
	}{
		{"CreateRun/callers=1", 1, 40, (*measured).createRun},
		{"CreateRun/callers=32", 32, 320, (*measured).createRun},
		{"fan-out/callers=1", 1, 40, (*measured).enqueue},
		{"fan-out/callers=32", 32, 640, (*measured).enqueue},
	} {
		b.Run(c.name, func(b *testing.B) {
			round := func(m *measured) cost {
				return measure(b, c.calls, func() {
					var callers sync.WaitGroup
					for caller := range c.callers {
						created++
						first := created * 1000
						callers.Go(func() {
							for i := caller; i < c.calls; i += c.callers {
								if err := c.call(m, b.Context(), fmt.Sprint("r", first+i)); err != nil {
									b.Error(err)
								}
							}
						})
					}
					callers.Wait()
				})
			}
			var offs, ons []cost
			for b.Loop() {
				var without, with cost
				if len(offs)%2 == 0 {
					without, with = round(off), round(on)
				} else {
					with, without = round(on), round(off)
				}
				offs, ons = append(offs, without), append(ons, with)
			}
			compare(b, "µs", "%-slower", offs, ons, func(c cost) float64 { return c.time })
			compare(b, "µs-CPU", "%-more-CPU", offs, ons, func(c cost) float64 { return c.cpu })
		})
	}
}

// compare reports the medians without and with access, and that of the ratios of the rounds.
func compare(b *testing.B, unit, more string, offs, ons []cost, of func(cost) float64) {
	b.Helper()
	var without, with, ratios []float64
	for i := range offs {
		without, with, ratios = append(without, of(offs[i])), append(with, of(ons[i])), append(ratios, of(ons[i])/of(offs[i]))
	}
	b.ReportMetric(median(without), unit+"-off")
	b.ReportMetric(median(with), unit+"-on")
	b.ReportMetric(100*(median(ratios)-1), more)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
