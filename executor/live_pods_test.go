package executor_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func TestLivePodsAreThoseThatHaveNotEnded(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: untilDeleted})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	uid, err := strconv.ParseInt(task.Labels[v1.LabelUID], 10, 64)
	require.NoError(t, err)
	asked := []int64{uid}
	for other := range int64(250) { // more than one request asks for
		asked = append(asked, uid+1+other)
	}
	live := func() []int64 {
		held, err := h.service.LivePods(t.Context(), ident.AllShards, asked)
		require.NoError(t, err)
		return held
	}
	require.Equal(t, []int64{uid}, live())
	require.NoError(t, h.Client.Delete(t.Context(), task))
	h.awaitGone(task)
	require.Empty(t, live())
}
