package reconciler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

const (
	waiting      = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
	initializing = common.ActionPhase_ACTION_PHASE_INITIALIZING
	isRunning    = common.ActionPhase_ACTION_PHASE_RUNNING
)

// limitedAttempt is attempt n of an action that was recorded ago.
func limitedAttempt(r *Reconciler, n int32, ago time.Duration) *plugin.Attempt {
	task := &v1.TaskAction{}
	queued := metav1.NewMicroTime(r.deps.Clock.Now().Add(-ago))
	task.Spec.QueuedAt = &queued
	task.CreationTimestamp = metav1.NewTime(queued.Time)
	return &plugin.Attempt{Task: task, Number: n, Template: &core.TaskTemplate{Metadata: &core.TaskMetadata{
		Timeout: durationpb.New(10 * time.Second),
		Timeouts: &core.TimeoutStrategy{
			QueuedTimeout: durationpb.New(20 * time.Second), Deadline: durationpb.New(time.Minute),
		},
	}}}
}

// Story R19: timeouts, backoff, queues, overwriting of the cache, recovery and webhooks were accepted and ignored.
func TestEachTimeoutIsDistinguished(t *testing.T) {
	r := deciding(t, 0)
	now := r.deps.Clock.Now()
	for _, tc := range []struct {
		name    string
		ago     time.Duration
		phase   common.ActionPhase
		started time.Duration // ago; 0 means not
		reason  failure.Reason
		words   string
		recheck time.Duration
	}{
		{"waits", 19 * time.Second, waiting, 0, "", "", time.Second},
		{"waits too long", 20 * time.Second, waiting, 0, failure.QueuedTooLong, "queued timeout of 20s", 0},
		{"an image is pulled", 25 * time.Second, initializing, 0, "", "", 35 * time.Second},
		{"runs", 25 * time.Second, isRunning, 4*time.Second + 500*time.Millisecond, "", "", 5500 * time.Millisecond},
		{"runs too long", 25 * time.Second, isRunning, 10*time.Second + time.Millisecond, failure.RuntimeExceeded, "timeout of 10s", 0},
		{"all of it takes too long", time.Minute, isRunning, time.Second, failure.DeadlineExceeded, "deadline of 1m0s over all attempts", 0},
		{"waits until the deadline", time.Minute, waiting, 0, failure.DeadlineExceeded, "deadline of 1m0s over all attempts", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := plugin.State{Phase: tc.phase}
			if tc.started > 0 {
				state.StartedAt = now.Add(-tc.started)
			}
			got := r.withTimeouts(&entry{}, limitedAttempt(r, 1, tc.ago), state)
			if tc.reason == "" {
				require.Nil(t, got.Failure)
				require.Equal(t, tc.recheck, got.Recheck)
				return
			}
			require.Equal(t, tc.reason, got.Failure.Reason)
			require.Equal(t, string(tc.reason), got.Failure.Proto().GetCode())
			require.Equal(t, core.ExecutionError_USER, got.Failure.Proto().GetKind())
			require.Contains(t, got.Failure.Message, tc.words)
			next, loss := r.decide(&entry{}, &plugin.Attempt{Template: withBudget(1), Number: 1}, got.Failure)
			require.Equal(t, common.ActionPhase_ACTION_PHASE_TIMED_OUT, loss.Phase())
			require.Equal(t, tc.reason == failure.RuntimeExceeded, next != nil, "only a timeout of the attempt itself is retried")
		})
	}
}

// TestQueuedTimeoutOfALaterAttempt counts from the end of the pause before it, over restarts too.
func TestQueuedTimeoutOfALaterAttempt(t *testing.T) {
	r := deciding(t, 0)
	begins := metav1.NewMicroTime(r.deps.Clock.Now().Add(-15 * time.Second))
	attempt := limitedAttempt(r, 2, 50*time.Second)
	e := &entry{status: v1.TaskActionStatus{Attempt: 2, NotBefore: &begins}}
	state := r.withTimeouts(e, attempt, plugin.State{Phase: waiting})
	require.Nil(t, state.Failure)
	require.Equal(t, 5*time.Second, state.Recheck)
}

// TestAnAttemptGetsItsWholeTime: the cluster reports the start of a process in whole seconds; it gets its whole time
// anyway.
func TestAnAttemptGetsItsWholeTime(t *testing.T) {
	r := deciding(t, 0)
	fake, _ := r.deps.Clock.(*clock.Fake)
	started := r.deps.Clock.Now()
	fake.Step(700 * time.Millisecond)
	attempt := limitedAttempt(r, 1, time.Second)
	seen, inherited := &entry{}, &entry{}
	state := plugin.State{Phase: isRunning, StartedAt: started}
	require.Equal(t, 10*time.Second, r.withTimeouts(seen, attempt, state).Recheck, "we saw it start now")
	fake.Step(5 * time.Second)
	require.Equal(t, 5*time.Second, r.withTimeouts(seen, attempt, state).Recheck)
	require.Equal(t, 5300*time.Millisecond, r.withTimeouts(inherited, attempt, state).Recheck, "a successor counts from the end of that second")
}

// TestAStuckStartCountsAsQueued: an attempt that cannot start for lack of a secret does not begin to start, whatever its phase.
func TestAStuckStartCountsAsQueued(t *testing.T) {
	r := deciding(t, 0)
	attempt := limitedAttempt(r, 1, 25*time.Second)
	require.Nil(t, r.withTimeouts(&entry{}, attempt, plugin.State{Phase: initializing}).Failure, "a normal start may take long")
	stuck := r.withTimeouts(&entry{}, attempt, plugin.State{Phase: initializing, Stuck: true})
	require.NotNil(t, stuck.Failure)
	require.Equal(t, failure.QueuedTooLong, stuck.Failure.Reason)
}
