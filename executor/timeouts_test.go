package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// forEver never ends by itself.
func forEver(ctx context.Context, _ *corev1.Pod) kubetest.Result {
	<-ctx.Done()
	return kubetest.Result{Leave: true}
}

// TestDeadlineIsKeptOverARestart: it counts from the recording of the action, whichever process runs it.
func TestDeadlineIsKeptOverARestart(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: forEver})
	action, task := h.submit(taskTemplate(withRetries(3), func(t *core.TaskTemplate) {
		t.Metadata.Timeouts = &core.TimeoutStrategy{Deadline: durationpb.New(3 * time.Second)}
	}))
	h.record.awaitPhase(t, action, 1, state.Running)
	h.stop(h.service)
	h.start()
	h.record.awaitPhase(t, action, 1, state.TimedOut)
	h.awaitGone(task)
	last := h.record.last(action)
	require.Equal(t, "DEADLINE_EXCEEDED", last.GetError().GetCode())
	took := last.GetEvent().GetUpdatedTime().AsTime().Sub(task.Spec.QueuedAt.Time)
	require.InDelta(t, 3, took.Seconds(), 1)
	require.Equal(t, 1, h.node.Started(), "a deadline is not retried")
}

// TestDeadlineDuringTheBackoff: an action whose next attempt is far away still ends in time.
func TestDeadlineDuringTheBackoff(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		Program: fails("ValueError", "it is odd", core.ContainerError_RECOVERABLE, core.ExecutionError_USER),
	})
	action, task := h.submit(taskTemplate(func(t *core.TaskTemplate) {
		t.Metadata = &core.TaskMetadata{
			Retries:  &core.RetryStrategy{Retries: 2, Backoff: &core.Backoff{Base: durationpb.New(time.Hour)}},
			Timeouts: &core.TimeoutStrategy{Deadline: durationpb.New(2 * time.Second)},
		}
	}))
	h.record.awaitPhase(t, action, 2, state.TimedOut)
	h.awaitGone(task)
	require.Equal(t, "DEADLINE_EXCEEDED", h.record.last(action).GetError().GetCode())
	require.Equal(t, 1, h.node.Started())
	for _, transition := range h.record.events(action) {
		event := transition.GetEvent()
		switch {
		case event.GetAttempt() == 1 && event.GetPhase() == 6:
			require.Equal(t, "ValueError", transition.GetError().GetCode(), "the lost attempt keeps its own error")
		case event.GetAttempt() == 2 && event.GetPhase() == 1:
			require.Contains(t, event.GetClusterEvents()[0].GetMessage(), "ValueError; retrying in 3600 s (retry 1 of 2")
			require.WithinDuration(t, event.GetUpdatedTime().AsTime().Add(time.Hour), transition.GetNotBefore().AsTime(), time.Second)
		}
	}
}

// TestMaxRuntimeUsesARetry: an attempt that runs too long is lost like one that fails.
func TestMaxRuntimeUsesARetry(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		if pod.Labels["flyte.org/attempt"] == "1" {
			return forEver(ctx, pod)
		}
		return succeeds(ctx, pod)
	}})
	action, task := h.submit(taskTemplate(withRetries(1), func(t *core.TaskTemplate) { t.Metadata.Timeout = durationpb.New(time.Second) }))
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	h.awaitGone(task)
	require.Contains(t, h.record.history(action), "1 TIMED_OUT")
}

// TestQueuedTimeoutOfAPodThatCannotBePlaced needs a node that never takes the pod.
func TestQueuedTimeoutOfAPodThatCannotBePlaced(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{SkipBinding: true, SkipRunning: true, Program: forEver})
	action, task := h.submit(taskTemplate(withRetries(2), func(t *core.TaskTemplate) {
		t.Metadata.Timeouts = &core.TimeoutStrategy{QueuedTimeout: durationpb.New(2 * time.Second)}
	}))
	h.record.awaitPhase(t, action, 1, state.TimedOut)
	h.awaitGone(task)
	require.Equal(t, "QUEUED_TIMEOUT_EXCEEDED", h.record.last(action).GetError().GetCode())
}
