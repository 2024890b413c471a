package executor_test

import (
	"context"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// TestNothingIsLeftBehind runs hundreds of actions that succeed, fail, are retried or are aborted, and looks for
// leaks: objects in the API server, entries in memory, goroutines.
//
// Story R6: memory grew with every action that had ever run, until the process was killed at 150,000.
func TestNothingIsLeftBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("runs hundreds of actions")
	}
	var pods atomic.Int64
	h := newHarness(t, kubetest.NodeOptions{SkipRunning: true, Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		pods.Add(1)
		number, err := strconv.Atoi(pod.Labels[v1.LabelUID])
		if err != nil {
			return kubetest.Result{ExitCode: 1}
		}
		switch first := strings.HasSuffix(pod.Name, "-0"); {
		case number%10 == 1: // fails for good
			return kubetest.Result{ExitCode: 1}
		case number%10 == 2 && first: // fails once
			return kubetest.Result{ExitCode: 1}
		case number%10 == 3: // runs until it is aborted
			<-ctx.Done()
			return kubetest.Result{Leave: true}
		}
		return succeeds(ctx, pod)
	}})
	const actions, together = 300, 150
	do := func(n int) {
		type one struct {
			action ident.Action
			task   *v1.TaskAction
		}
		all := make([]one, n)
		for i := range all {
			all[i].action, all[i].task = h.submit(taskTemplate(withRetries(1)))
		}
		for _, o := range all {
			switch o.task.Spec.UID % 10 {
			case 1:
				h.record.awaitPhase(t, o.action, 2, state.Failed)
			case 2:
				h.record.awaitPhase(t, o.action, 2, state.Succeeded)
			case 3:
				h.record.end(o.action, state.Aborted)
				require.NoError(t, client.IgnoreNotFound(h.Client.Delete(context.Background(), o.task)))
			default:
				h.record.awaitPhase(t, o.action, 1, state.Succeeded)
			}
		}
	}
	settled := func() {
		require.Eventually(t, func() bool {
			var tasks v1.TaskActionList
			require.NoError(t, h.Client.List(context.Background(), &tasks, client.InNamespace(h.Namespace)))
			return len(tasks.Items) == 0 && len(h.pods()) == 0 && h.service.Live() == 0
		}, waitLimit, 20*time.Millisecond)
	}
	do(50)
	settled()
	// Idle connections come and go; a goroutine for each action would be hundreds.
	before := runtime.NumGoroutine()
	for range actions / together {
		do(together)
	}
	settled()

	var leases coordinationv1.LeaseList
	require.NoError(t, h.Client.List(t.Context(), &leases, client.InNamespace(h.Namespace)))
	require.Empty(t, leases.Items)
	events, err := h.Clientset.CoreV1().Events(h.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, events.Items, "the executor writes no events")
	t.Cleanup(func() {
		if t.Failed() {
			require.NoError(t, pprof.Lookup("goroutine").WriteTo(t.Output(), 1))
		}
	})
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+25 }, waitLimit, 50*time.Millisecond, "%d before", before)
	require.GreaterOrEqual(t, pods.Load(), int64(actions))
}
