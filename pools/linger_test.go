package pools_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pools"
)

// TestAnAttemptThatHangsAfterItsOutcomeIsStopped: its slot was taken forever. What it wrote counts.
func TestAnAttemptThatHangsAfterItsOutcomeIsStopped(t *testing.T) {
	f := newFixture(t, func(c *pools.Config) { c.Linger = 50 * time.Millisecond })
	f.run("r")
	f.child("r", "a0", "fails", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	a := w.take()
	f.reaches("r", "fails", running)
	f.raise(a, core.ContainerError_NON_RECOVERABLE)
	require.NotNil(t, w.next().GetStop(), "the server ends it")
	w.end(a, workerv1.End_END_STOPPED, 0)
	f.reaches("r", "fails", failed)
	found := f.details("r", "fails")
	require.Len(t, found.GetAttempts(), 1)
	require.Equal(t, "ValueError", found.GetErrorInfo().GetCode())
	reasons := map[string]bool{}
	for _, event := range found.GetAttempts()[0].GetClusterEvents() {
		reasons[event.GetReason()] = true
	}
	require.True(t, reasons["OutcomeWritten"], "the action says so")

	f.child("r", "a0", "returns", reusable(policy(1, 1, 1)))
	a = w.take()
	f.reaches("r", "returns", running)
	f.outputs(a)
	require.NotNil(t, w.next().GetStop())
	w.cut() // the next session does not know why it was stopped
	delete(w.running, a.GetId().GetUid())
	w.finishLater(a, workerv1.End_END_STOPPED)
	w.connect()
	w.acknowledged(a)
	f.reaches("r", "returns", succeeded)
}
