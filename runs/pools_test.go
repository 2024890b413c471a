package runs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs"
)

// pooled is a child that workers run.
func pooled(run, parent, name string) *workflow.RecordActionRequest {
	request := childTask(run, parent, name)
	template := request.GetTask().GetSpec().GetTaskTemplate()
	template.Type = "actor"
	template.ReusePolicy = &core.ReusePolicy{MinReplicas: 1, MaxReplicas: 2, Concurrency: 1}
	return request
}

func TestReusableEnvironmentsAreAssignedToPools(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	executors, pools := c.watchAssignments(), c.watchRunner(&enginev1.WatchAssignmentsRequest{Runner: enginev1.Runner_RUNNER_POOL})
	require.Equal(t, "live r/a0", executors.next())
	require.Equal(t, "sentinel", executors.next())
	require.Equal(t, "sentinel", pools.next())

	require.Zero(t, c.record(pooled("r", "a0", "c")))
	c.child("r", "c", "between")
	require.Equal(t, "assign r/c", pools.next())
	require.Equal(t, "assign r/between", executors.next())
	require.Zero(t, c.record(pooled("r", "between", "below")))
	require.Equal(t, "assign r/below", pools.next())
	require.Equal(t, []string{"between", "c", "a0"}, pools.stream.Msg().GetAssignment().GetAncestors())
	events := c.details("r", "c").GetAttempts()[0].GetClusterEvents()
	require.Len(t, events, 1, "its process is reused, whatever the note says elsewhere")
	require.Contains(t, events[0].GetMessage(), "waits: ")

	function := childTask("r", "a0", "by-kind")
	function.GetTask().GetSpec().GetTaskTemplate().Type = "python"
	function.GetTask().GetSpec().GetTaskTemplate().WorkerKind = core.WorkerKind_WORKER_KIND_REUSABLE
	require.Zero(t, c.record(function))
	require.Equal(t, "assign r/by-kind", pools.next())
	require.Len(t, c.details("r", "by-kind").GetAttempts()[0].GetClusterEvents(), 1)

	c.report(transition("r", "below", 1, running), transition("r", "below", 1, failed), transition("r", "below", 2, queued))
	c.report(transition("r", "below", 2, succeeded))
	require.Equal(t, "release r/below", pools.next())
	again := c.watchRunner(&enginev1.WatchAssignmentsRequest{Runner: enginev1.Runner_RUNNER_POOL})
	require.Equal(t, "live r/c r/by-kind", again.next())
}

func TestPoolsTakePlacesOfTheInstallation(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) { config.Admission.MaxLive = 2 })
	c.create(namedRun("r"))
	pools := c.watchRunner(&enginev1.WatchAssignmentsRequest{Runner: enginev1.Runner_RUNNER_POOL})
	require.Equal(t, "sentinel", pools.next())
	require.Zero(t, c.record(pooled("r", "a0", "c1")))
	require.Equal(t, "assign r/c1", pools.next())
	require.Zero(t, c.record(pooled("r", "a0", "c2")))
	require.Zero(t, c.record(pooled("r", "a0", "c3")))
	var admitted int
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT count(*) FROM actions WHERE admitted_at IS NOT NULL`).Scan(&admitted))
	require.Equal(t, 2, admitted, "the root and one child")
	c.report(transition("r", "c1", 1, succeeded))
	require.ElementsMatch(t, []string{"release r/c1", "assign r/c2"}, []string{pools.next(), pools.next()}, "in any order")
}

// TestPoolsLeaveTimeLimitsOfTheWaitToRuns: no one else would end an action that waits for a slot.
func TestPoolsLeaveTimeLimitsOfTheWaitToRuns(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	late := pooled("r", "a0", "c")
	late.GetTask().GetSpec().GetTaskTemplate().Metadata = &core.TaskMetadata{Timeouts: &core.TimeoutStrategy{QueuedTimeout: durationpb.New(10 * time.Millisecond)}}
	require.Zero(t, c.record(late))
	require.Eventually(t, func() bool { return c.phase("r", "c") == common.ActionPhase_ACTION_PHASE_TIMED_OUT }, time.Minute, 10*time.Millisecond)
}
