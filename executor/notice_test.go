package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// What the node says about an attempt is among its cluster events, whether its start was seen or only its end.
func TestNoticesOfTheNodeAreShownOnce(t *testing.T) {
	for name, running := range map[string]bool{"start seen": true, "end seen first": false} {
		t.Run(name, func(t *testing.T) {
			said := metav1.NewTime(time.Unix(1_700_000_000, 0))
			started := make(chan corev1.Pod, 1)
			h := newHarness(t, kubetest.NodeOptions{SkipRunning: true, Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
				result := succeeds(ctx, pod)
				result.Leave = true
				started <- *pod
				return result
			}})
			action, task := h.submit(taskTemplate())
			pod := <-started
			report := func(status corev1.PodStatus) {
				status.Conditions = append(status.Conditions, corev1.PodCondition{
					Type: "flyte.org/Notice", Status: corev1.ConditionTrue, Reason: "ImageNotMapped", Message: "another environment", LastTransitionTime: said,
				})
				require.NoError(t, kubetest.PatchPodStatus(context.Background(), h.Clientset, &pod, status))
			}
			if running {
				report(kubetest.Running(&pod, metav1.Now()))
				h.record.awaitPhase(t, action, 1, state.Running)
			}
			report(kubetest.Terminated(&pod, metav1.Now(), metav1.Now(), kubetest.Result{}))
			h.record.awaitPhase(t, action, 1, state.Succeeded)
			h.awaitGone(task)

			var found []*workflow.ClusterEvent
			for _, transition := range h.record.events(action) {
				for _, event := range transition.GetEvent().GetClusterEvents() {
					if event.GetReason() == "ImageNotMapped" {
						found = append(found, event)
						require.Equal(t, common.ActionPhase_ACTION_PHASE_RUNNING, transition.GetEvent().GetPhase())
					}
				}
			}
			require.Len(t, found, 1)
			require.Equal(t, "another environment", found[0].GetMessage())
			require.Equal(t, "node", found[0].GetSourceComponent())
			require.True(t, said.Equal(&metav1.Time{Time: found[0].GetOccurredAt().AsTime()}))
		})
	}
}

// A client library that gives up before the task's code runs takes none of the task's retries.
func TestLibraryThatDoesNotStartIsNotTheTasksFailure(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		if pod.Labels["flyte.org/attempt"] == "1" {
			return kubetest.Result{ExitCode: 1, Message: "Traceback (most recent call last):\n  ...\nTimeoutError: Controller thread failed to start in time"}
		}
		return succeeds(ctx, pod)
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	h.awaitGone(task)
	var lost []string
	for _, transition := range h.record.events(action) {
		if failure := transition.GetError(); failure != nil {
			lost = append(lost, failure.GetCode()+" "+failure.GetKind().String())
		}
	}
	require.Equal(t, []string{"RuntimeNotStarted SYSTEM"}, lost)
}
