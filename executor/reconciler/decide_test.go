package reconciler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

func deciding(t require.TestingT, maxSystem int32) *Reconciler {
	config := DefaultConfig()
	config.MaxSystemFailures = maxSystem
	r, err := New(config, Deps{Clock: clock.NewFake(time.Unix(1000, 0))})
	require.NoError(t, err)
	return r
}

func withBudget(retries uint32) *core.TaskTemplate {
	return &core.TaskTemplate{Metadata: &core.TaskMetadata{Retries: &core.RetryStrategy{Retries: retries}}}
}

// TestPauseEndsWhenTheClockIsSetBack: an attempt waits no longer than the longest pause of its action.
func TestPauseEndsWhenTheClockIsSetBack(t *testing.T) {
	for _, reason := range []failure.Reason{failure.NodeLost, failure.ContainerFailed} {
		r := deciding(t, 10)
		task, e := &v1.TaskAction{}, &entry{template: withBudget(10)}
		e.template.Metadata.Retries.Backoff = &core.Backoff{Base: durationpb.New(time.Hour), Factor: new(2.0), Cap: durationpb.New(3 * time.Hour)}
		for range 5 {
			next, _ := r.decide(e, r.attempt(task, e), failure.New(reason, ""))
			e.status = *next
			require.Equal(t, next.NotBefore.Sub(r.deps.Clock.Now()), r.pauseLeft(task, e))
		}
		r.deps.Clock.(*clock.Fake).Step(-5 * time.Hour)
		require.Zero(t, r.pauseLeft(task, e))
	}
}

// TestBudgetsAreKept is the promise that attempts never exceed the budget, and that faults of the system never consume
// the task's retries.
//
// Story R12: quota, throttling and preemption used up the retries that a task had declared for its own errors.
func TestBudgetsAreKept(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		retries := rapid.Uint32Range(0, 4).Draw(t, "retries")
		maxSystem := rapid.Int32Range(0, 4).Draw(t, "maxSystem")
		r := deciding(t, maxSystem)
		e := &entry{}
		users, systems := int32(0), int32(0)
		for number := int32(1); ; number++ {
			reason := rapid.SampledFrom([]failure.Reason{failure.ContainerFailed, failure.NodeLost, failure.Preemption}).Draw(t, "reason")
			lost := failure.New(reason, "")
			if rapid.Bool().Draw(t, "reported by the task") {
				// Whomever the task blames, it has used one of its own retries.
				lost = failure.FromTask(&core.ContainerError{Kind: core.ContainerError_RECOVERABLE, Origin: core.ExecutionError_SYSTEM}, false)
			}
			if number > 1+int32(retries)+maxSystem {
				t.Fatalf("attempt %d of %d and %d", number, retries, maxSystem)
			}
			if lost.IsUsers() {
				users++
			} else {
				systems++
			}
			next, told := r.decide(e, &plugin.Attempt{Template: withBudget(retries), Number: number}, lost)
			if next == nil {
				if users <= int32(retries) && systems <= maxSystem {
					t.Fatalf("failed for good after %d of %d user and %d of %d system failures", users, retries, systems, maxSystem)
				}
				if users <= int32(retries) && told.Failure.IsUsers() {
					t.Fatalf("the task is blamed for %v", told.Failure)
				}
				return
			}
			if next.Attempt != number+1 || next.UserFailures != users || next.SystemFailures != systems {
				t.Fatalf("after attempt %d: %+v", number, next)
			}
			if next.UserFailures > int32(retries) || next.SystemFailures > maxSystem {
				t.Fatalf("budget exceeded: %+v", next)
			}
			e.status = *next
			if rapid.Bool().Draw(t, "restart") {
				e = &entry{status: *next.DeepCopy()} // what is in the cluster is all that is left
			}
		}
	})
}

func TestNumberOfAttemptsIsBoundedThoughCountersAreLost(t *testing.T) {
	r := deciding(t, 3)
	next, _ := r.decide(&entry{}, &plugin.Attempt{Template: withBudget(2), Number: 6}, failure.New(failure.ContainerFailed, ""))
	require.Nil(t, next, "one attempt, two retries and three system failures make six")
	next, _ = r.decide(&entry{}, &plugin.Attempt{Template: withBudget(2), Number: 5}, failure.New(failure.ContainerFailed, ""))
	require.NotNil(t, next)
}

func TestSystemFailuresBackOffAndUsersDoNot(t *testing.T) {
	r := deciding(t, 10)
	now := r.deps.Clock.Now()
	e := &entry{}
	var last time.Duration
	for n := range int32(5) {
		next, _ := r.decide(e, &plugin.Attempt{Template: withBudget(0), Number: n + 1}, failure.New(failure.NodeLost, ""))
		pause := next.NotBefore.Sub(now)
		require.Greater(t, pause, last)
		last, e.status = pause, *next
	}
	next, _ := r.decide(&entry{}, &plugin.Attempt{Template: withBudget(1), Number: 1}, failure.New(failure.ContainerFailed, ""))
	require.Equal(t, now, next.NotBefore.Time, "a retry of the task's own begins at once")
}

func TestVersionsGrowOverRestarts(t *testing.T) {
	r := deciding(t, 0)
	task := &v1.TaskAction{}
	task.CreationTimestamp.Time = r.deps.Clock.Now().Add(-90 * time.Second)
	require.Equal(t, uint32(90), r.nextVersion(0, task), "as old as the action, so later than any that a predecessor reported")
	require.Equal(t, uint32(91), r.nextVersion(90, task))
}

func TestPreciseTimes(t *testing.T) {
	r := deciding(t, 0)
	now := r.deps.Clock.Now().Add(300 * time.Millisecond)
	fake, _ := r.deps.Clock.(*clock.Fake)
	fake.Step(300 * time.Millisecond)
	e := &entry{}
	running := position{attempt: 1, phase: common.ActionPhase_ACTION_PHASE_RUNNING}
	ended := position{attempt: 1, phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	require.Equal(t, now, r.eventTime(e, running, time.Unix(1000, 0)), "truncated to this second: now is more precise")
	require.Equal(t, now, r.eventTime(e, ended, time.Unix(900, 0)), "never before the phase before it")
	require.Equal(t, time.Unix(901, 0).UTC(), r.eventTime(&entry{}, running, time.Unix(900, 0)), "seen late: the end of that second")
	require.Equal(t, now, r.eventTime(&entry{}, running, time.Unix(1090, 0)), "a node whose clock is ahead: not in the future")
	require.Equal(t, now, r.eventTime(&entry{}, running, time.Time{}))
}

func TestConfigNamesTheWrongField(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"workers":           func(c *Config) { c.Workers = 0 },
		"maxSystemFailures": func(c *Config) { c.MaxSystemFailures = -1 },
		"systemBackoff":     func(c *Config) { c.SystemBackoff = 0 },
		"maxSystemBackoff":  func(c *Config) { c.MaxSystemBackoff = 0 },
		"statusDelay":       func(c *Config) { c.StatusDelay = 0 },
		"resync":            func(c *Config) { c.Resync = 0 },
		"sweep":             func(c *Config) { c.Sweep = 0 },
		"errorBackoff":      func(c *Config) { c.ErrorBackoff = 0 },
		"maxErrorBackoff":   func(c *Config) { c.MaxErrorBackoff = 0 },
	} {
		config := DefaultConfig()
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}
