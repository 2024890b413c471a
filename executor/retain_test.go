package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func (h *harness) retains(task *v1.TaskAction) bool {
	return h.service.Retains(ident.AllShards, clientKey(task), task.UID)
}

// slowLog is a log that can be read once the test allows it.
func slowLog(let chan struct{}) func(string, string) string {
	return func(string, string) string {
		<-let
		return "2026-01-02T03:04:05Z late\n"
	}
}

// Story R10: logs disappeared with the pod, although they had been promised for every attempt.
func TestAnEndedTaskActionIsRetainedUntilItsLogsAreSealed(t *testing.T) {
	let := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds, Log: slowLog(let)})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	require.True(t, h.retains(task), "the end is committed, but the log is not sealed")
	require.Zero(t, h.finished.Load())
	close(let)
	h.awaitGone(task)
	require.False(t, h.retains(task))
	require.EqualValues(t, 1, h.finished.Load())
}

func TestATaskActionWithoutLogsToSealIsNotRetained(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: untilDeleted})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	require.False(t, h.retains(task), "an abort deletes it at once")
	unseen := task.DeepCopy()
	unseen.Name, unseen.UID = "unseen", "unseen"
	require.False(t, h.retains(unseen))

	h.stop(h.service)
	require.True(t, h.retains(task), "nobody has observed it yet")
	h.start()
	require.Eventually(t, func() bool { return !h.retains(task) }, waitLimit, time.Millisecond)
}

// The process that saw the end died before it had sealed the log.
func TestAfterARestartAnEndedTaskActionIsRetainedUntilItsLogsAreSealed(t *testing.T) {
	let, ran := make(chan struct{}), make(chan struct{}, 1)
	h := newHarness(t, kubetest.NodeOptions{
		Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
			ran <- struct{}{}
			return succeeds(ctx, pod)
		},
		Log: slowLog(let),
	})
	action, task := h.submit(taskTemplate())
	<-ran
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.stop(h.service)
	h.start()
	require.Never(t, func() bool { return !h.retains(task) }, 200*time.Millisecond, 5*time.Millisecond)
	require.Zero(t, h.finished.Load())
	close(let)
	h.awaitGone(task)
	require.EqualValues(t, 1, h.finished.Load())
	require.Equal(t, 1, h.node.Started())
}
