package executor_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// owns is a leader whose replica always owns the same shards.
type owns func(shard int) bool

func (o owns) While(ctx context.Context, work func(ctx context.Context, shard int)) {
	var group sync.WaitGroup
	for shard := range ident.Shards {
		if o(shard) {
			group.Go(func() { work(ctx, shard) })
		}
	}
	<-ctx.Done()
	group.Wait()
}

// TestReplicasReconcileTheirShards: two replicas share the objects of a version that had no shards. Each adopts those of its
// shards, with their pods, which continue; new ones get an owner as well, and each action is reported once.
func TestReplicasReconcileTheirShards(t *testing.T) {
	const tasks = 12
	let := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		select {
		case <-let:
		case <-ctx.Done():
		}
		return succeeds(ctx, pod)
	}})
	var actions []ident.Action
	for range tasks {
		action, _ := h.submit(taskTemplate())
		actions = append(actions, action)
	}
	for _, action := range actions {
		h.record.awaitPhase(t, action, 1, state.Running)
	}
	h.stop(h.service)
	unlabel := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1.LabelShard+`":null}}}`))
	pods := map[types.UID]bool{}
	for _, pod := range h.pods() {
		require.NotEmpty(t, pod.Labels[v1.LabelShard])
		require.NoError(t, h.Client.Patch(t.Context(), &pod, unlabel))
		pods[pod.UID] = true
	}
	var list v1.TaskActionList
	require.NoError(t, h.Client.List(t.Context(), &list, client.InNamespace(h.Namespace)))
	for _, task := range list.Items {
		require.NoError(t, h.Client.Patch(t.Context(), &task, unlabel))
	}

	shared := 0
	h.leader = owns(func(shard int) bool { return shard%2 == 0 })
	h.start()
	even := h.service
	h.leader = owns(func(shard int) bool { return shard%2 == 1 })
	h.start()
	odd := h.service
	for _, action := range actions {
		shared += 1 - action.Run.Shard()%2
	}
	const entries = 2 // of one action, in the reconciler and in its plugin
	require.Eventually(t, func() bool {
		return even.Live() == entries*shared && odd.Live() == entries*(tasks-shared)
	}, waitLimit, time.Millisecond)
	after := map[types.UID]bool{}
	for _, pod := range h.pods() {
		run := ident.Run{Project: "p", Domain: "d", Name: pod.Labels[v1.LabelRun]}
		require.Equal(t, strconv.Itoa(run.Shard()), pod.Labels[v1.LabelShard])
		after[pod.UID] = true
	}
	require.Equal(t, pods, after, "no attempt was begun again")
	for range tasks {
		action, _ := h.submit(taskTemplate())
		actions = append(actions, action)
	}
	close(let)
	for _, action := range actions {
		h.record.awaitPhase(t, action, 1, state.Succeeded)
	}
	require.Eventually(t, func() bool { return even.Live()+odd.Live() == 0 && len(h.pods()) == 0 }, waitLimit, time.Millisecond)
	require.EqualValues(t, 2*tasks, h.finished.Load(), "each was finished by one of them")
}
