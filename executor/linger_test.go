package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// hangs does what another program does, but never ends.
func hangs(program kubetest.Program) kubetest.Program {
	return func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		program(ctx, pod)
		return forEver(ctx, pod)
	}
}

// A parent with 1,000 children uploaded its error and then hung in the SDK's shutdown: its run stayed RUNNING until someone aborted it.
func TestAProcessThatHangsAfterItsOutcomeIsEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		program kubetest.Program
		phase   int16
	}{
		"error":   {fails("ValueError", "no", core.ContainerError_NON_RECOVERABLE, core.ExecutionError_USER), state.Failed},
		"outputs": {succeeds, state.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, kubetest.NodeOptions{Program: hangs(tc.program)}, func(c *executor.Config) { c.Reconciler.Linger = time.Second })
			action, task := h.submit(taskTemplate())
			h.record.awaitPhase(t, action, 1, tc.phase)
			h.awaitGone(task)
			require.Equal(t, 1, h.node.Started())
			said := false
			for _, transition := range h.record.events(action) {
				for _, event := range transition.GetEvent().GetClusterEvents() {
					said = said || event.GetReason() == "OutcomeWritten"
				}
			}
			require.True(t, said, "the action says why it is ended")
			if tc.phase == state.Failed {
				require.Equal(t, "ValueError", h.record.last(action).GetError().GetCode())
			}
		})
	}
}
