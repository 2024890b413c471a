package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/executor"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/drift/drifttest"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func (h *harness) eventuallyRepaired(kind string, want int64) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return h.repaired()[kind] == want }, waitLimit, 10*time.Millisecond, "%s: %v", kind, h.repaired())
}

func (h *harness) repaired() map[string]int64 {
	return drifttest.Counts(h.t, h.reader)
}

func untilDeleted(ctx context.Context, _ *corev1.Pod) kubetest.Result {
	<-ctx.Done()
	return kubetest.Result{Leave: true}
}

func TestAPodDeletedFromOutsideIsALostAttempt(t *testing.T) {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		select {
		case <-first:
			return untilDeleted(ctx, pod)
		default:
			return succeeds(ctx, pod)
		}
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	require.NoError(t, h.Clientset.CoreV1().Pods(h.Namespace).Delete(t.Context(), v1.PodName(task.Name, 1), metav1.DeleteOptions{}))
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	h.eventuallyRepaired("pod_deleted", 1)
	h.awaitGone(task)
	require.Len(t, h.repaired(), 1)
}

func TestAPodWithoutATaskActionIsDeleted(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: untilDeleted}, func(c *executor.Config) {
		c.Reconciler.Sweep, c.Reconciler.OrphanAge = 20*time.Millisecond, time.Millisecond
	})
	h.installation = "ours"
	pod := func(name, installation string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: h.Namespace, Name: name, Labels: map[string]string{v1.LabelManaged: v1.ManagedValue, v1.LabelInstallation: installation},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(
					&v1.TaskAction{ObjectMeta: metav1.ObjectMeta{Name: "gone", UID: "5f1f8ea6-0000-4000-8000-000000000000"}}, v1.GroupVersion.WithKind(v1.Kind))},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
	}
	h.stop(h.service)
	h.start()
	require.NoError(t, h.Client.Create(t.Context(), pod("theirs", "theirs")))
	require.NoError(t, h.Client.Create(t.Context(), pod("orphan", "ours")))
	h.eventuallyRepaired("pod_orphaned", 1)
	require.Eventually(t, func() bool { return len(h.pods()) == 1 }, waitLimit, 10*time.Millisecond)
	require.Never(t, func() bool { return len(h.pods()) != 1 }, 100*time.Millisecond, 10*time.Millisecond)
	require.Equal(t, "theirs", h.pods()[0].Name, "another installation's pod is left alone")
}

func TestATaskActionWhoseActionEndedIsFinished(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: untilDeleted}, func(c *executor.Config) { c.Reconciler.Resync = 50 * time.Millisecond })
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	h.record.end(action, state.Aborted)
	h.eventuallyRepaired("task_action_over", 1)
	h.awaitGone(task)
}

func TestTaskActionsOfAnotherInstallationAreLeftAlone(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds})
	h.stop(h.service)
	h.installation = "ours"
	h.start()
	_, theirs := h.submitAs(taskTemplate(), "theirs")
	action, _ := h.submitAs(taskTemplate(), "ours")
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	require.NoError(t, h.Client.Get(t.Context(), clientKey(theirs), theirs))
	require.Equal(t, 1, h.node.Started())
}
