package plugin_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// service is an imaginary service outside the cluster that runs statements under a key.
type service struct {
	mu   sync.Mutex
	jobs map[string]string // GUARDED_BY(mu): states by key
}

func (s *service) submit(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[key] == "" { // The key makes a repeated submission harmless.
		s.jobs[key] = "running"
	}
}

func (s *service) state(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[key]
}

func (s *service) cancel(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, key)
}

// statements is a minimal plugin: it runs attempts on the service. It has no objects in the cluster, so it implements
// neither Watcher nor Logged, and asks to be called again instead.
type statements struct{ service *service }

func (s statements) Name() string { return "statements" }

// key is different for every attempt, and the same for one whichever process asks.
func (s statements) key(attempt *plugin.Attempt) string {
	return v1.PodName(attempt.Task.Name, attempt.Number)
}

func (s statements) Advance(_ context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	switch state := s.service.state(s.key(attempt)); {
	case state == "done":
		return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}, nil
	case state == "running":
		return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, Recheck: pollPause}, nil
	case state != "":
		return plugin.Lost(failure.New(failure.TaskFailed, "the service says: %s", state)), nil
	case !attempt.MayLaunch:
		return plugin.State{}, nil // The reconciler asks first whether the action is still wanted.
	}
	s.service.submit(s.key(attempt))
	return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_QUEUED, Recheck: pollPause}, nil
}

func (s statements) Remove(_ context.Context, attempt *plugin.Attempt) error {
	s.service.cancel(s.key(attempt))
	return nil
}

// pollPause is the pause between two polls of the service.
const pollPause = time.Second

// A plugin needs three methods. A Definition makes it available to the executor, and routes select it.
func Example() {
	remote := &service{jobs: map[string]string{}}
	definition := plugin.Definition{
		Name: "statements",
		New:  func(plugin.Deps) (plugin.Plugin, error) { return statements{service: remote}, nil },
	}
	one, err := definition.New(plugin.Deps{})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	registry, err := plugin.NewRegistry(plugin.Routes{Default: "statements", TaskTypes: map[string]string{"sql": "statements"}}, one)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}

	task := &v1.TaskAction{}
	task.Name = "r1-a0-0123abcd"
	attempt := &plugin.Attempt{Task: task, Template: &core.TaskTemplate{Type: "sql"}, Number: 1, MayLaunch: true}
	show := func() {
		state, err := registry.For(attempt).Advance(context.Background(), attempt)
		fmt.Fprintln(os.Stdout, state.Phase, err)
	}
	show()
	show()
	remote.jobs["r1-a0-0123abcd-0"] = "done"
	show()
	fmt.Fprintln(os.Stdout, registry.For(attempt).Remove(context.Background(), attempt), len(remote.jobs))
	// Output:
	// ACTION_PHASE_QUEUED <nil>
	// ACTION_PHASE_RUNNING <nil>
	// ACTION_PHASE_SUCCEEDED <nil>
	// <nil> 0
}
