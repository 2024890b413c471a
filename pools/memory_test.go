package pools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func memory(limit, request string) func(*core.TaskTemplate) {
	entry := func(value string) []*core.Resources_ResourceEntry {
		return []*core.Resources_ResourceEntry{{Name: core.Resources_MEMORY, Value: value}}
	}
	return func(t *core.TaskTemplate) {
		t.GetContainer().Resources = &core.Resources{Limits: entry(limit), Requests: entry(request)}
	}
}

// runsOut reports that a worker's container has been killed because it ran out of memory.
func (f *fixture) runsOut(w *fake) {
	f.t.Helper()
	w.cut()
	_, err := f.fleet.ReportWorkers(f.t.Context(), &enginev1.ReportWorkersRequest{Workers: []*enginev1.ObservedWorker{{
		Id: w.id, Ended: true, Reason: "OOMKilled", OutOfMemory: true,
	}}})
	require.NoError(f.t, err)
}

// TestAWorkerThatRunsOutOfMemory: the attempt was reported as lost by the system, whatever had ended the container, and ran on four
// workers.
func TestAWorkerThatRunsOutOfMemory(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1), memory("500Mi", "200Mi")))
	w := f.start(f.desiredReach(1)[0])
	w.take()
	f.runsOut(w)
	f.reaches("r", "c", failed)
	found := f.details("r", "c")
	require.Len(t, found.GetAttempts(), 1)
	require.Equal(t, "OOMKilled", found.GetErrorInfo().GetCode())
	require.Equal(t, workflow.ErrorInfo_KIND_USER, found.GetErrorInfo().GetKind())
	require.Contains(t, found.GetErrorInfo().GetMessage(), "500Mi as its limit, and for 200Mi as its request")
}

// TestNeighboursOfATaskThatUsesAllMemoryAreLostByTheSystem: and if it is not known which of them it was, all are.
func TestNeighboursOfATaskThatUsesAllMemoryAreLostByTheSystem(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c1", reusable(policy(1, 1, 2)))
	f.child("r", "a0", "c2", reusable(policy(1, 1, 2)))
	w := f.start(f.desiredReach(1)[0])
	first := w.take()
	w.slots = 2
	w.beat()
	f.eventually("its start is recorded", func() bool { return f.count(`SELECT count(*) FROM pool_actions WHERE begun_at IS NOT NULL`) == 1 })
	second := w.next().GetAssignment() // whose process has not begun
	require.NotNil(t, second)
	f.runsOut(w)
	blamed, neighbour := first.GetEnv()["ACTION_NAME"], second.GetEnv()["ACTION_NAME"]
	f.reaches("r", blamed, failed)
	require.Equal(t, "OOMKilled", f.details("r", blamed).GetErrorInfo().GetCode())
	f.eventually("another attempt of the neighbour", func() bool { return len(f.details("r", neighbour).GetAttempts()) == 2 })
	require.Contains(t, f.details("r", neighbour).GetAttempts()[0].GetErrorInfo().GetMessage(), "another task used more memory")

	f.child("r", "a0", "c3", reusable(policy(1, 1, 2)))
	both := f.start(f.desiredReach(1)[0])
	both.take()
	both.slots = 2
	both.beat()
	both.take()
	f.eventually("both starts are recorded", func() bool { return f.count(`SELECT count(*) FROM pool_actions WHERE begun_at IS NOT NULL`) == 2 })
	f.runsOut(both)
	f.eventually("another attempt of both", func() bool {
		return len(f.details("r", neighbour).GetAttempts()) == 3 && len(f.details("r", "c3").GetAttempts()) == 2
	})
	lost := f.details("r", "c3").GetAttempts()[0].GetErrorInfo()
	require.Equal(t, "WorkerOOMKilled", lost.GetCode())
	require.Equal(t, workflow.ErrorInfo_KIND_SYSTEM, lost.GetKind())
}
