package executor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// A user deletes a TaskAction, and its owner recreates it from the row.
func TestRecreatedTaskActionKeepsItsFailureCounts(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: fails("ValueError", "again", core.ContainerError_RECOVERABLE, core.ExecutionError_USER)})
	action, task := h.submit(taskTemplate(withRetries(2)), func(a *enginev1.Assignment) { a.Attempt, a.UserFailures, a.SystemFailures = 5, 1, 3 })
	h.record.awaitPhase(t, action, 6, state.Failed)
	h.awaitGone(task)
	require.Equal(t, 2, h.node.Started(), "one of three failures had happened before")
}

// The attempt's directory has what it wrote before its TaskAction was deleted; that must not count for another process.
func TestAttemptThatHadBegunIsLostWithItsTaskAction(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds})
	action, task := h.submit(taskTemplate(), func(a *enginev1.Assignment) { a.Begun = true })
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	h.awaitGone(task)
	require.Equal(t, 1, h.node.Started())
	lost := h.record.events(action)[0].GetError()
	require.Equal(t, core.ExecutionError_SYSTEM, lost.GetKind())
	require.Equal(t, "ResourceDeletedExternally", lost.GetCode())
	h.requirePairsAreAtomic()
}

// A TaskAction is deleted while the report of a failure is in flight, and recreated from an assignment that was read before the
// report was committed. If it kept its own counts, the task would get one retry too many.
func TestTaskActionThatIsBehindTakesTheFailureCountsOfTheRunsService(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: fails("ValueError", "again", core.ContainerError_RECOVERABLE, core.ExecutionError_USER)})
	action, task := h.submit(taskTemplate(withRetries(1)), func(a *enginev1.Assignment) {
		a.Begun = true // so its end is reported as a failure of the system
		h.recordFailure(a, 1)
	})
	h.record.awaitPhase(t, action, 2, state.Failed)
	h.awaitGone(task)
	require.Equal(t, 1, h.node.Started(), "one of the two failures had happened before")
	require.NotContains(t, h.record.history(action), "3 QUEUED")
}

func TestTaskActionThatIsAttemptsBehindIsReplaced(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds})
	_, task := h.submit(taskTemplate(withRetries(3)), func(a *enginev1.Assignment) {
		a.Begun = true
		h.recordFailure(a, 1)
		h.recordFailure(a, 2)
	})
	h.awaitGone(task)
	require.Zero(t, h.node.Started(), "its owner recreates it from an assignment that is up to date")
}
