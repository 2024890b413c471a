package runs_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// Story R19: timeouts, backoff, queues, overwriting of the cache, recovery and webhooks were accepted and ignored.
func TestARecoveryReusesWhatSucceeded(t *testing.T) {
	c := failedRun(t)
	c.create(related("new", recover_, "source"))
	require.Equal(t, queued, c.phase("new", "a0"))

	snapshot := c.children("new", "a0")
	require.Len(t, snapshot, 1, "the trace that succeeded is there before the parent asks")
	require.Equal(t, recovered, snapshot["step"].GetPhase())
	require.Equal(t, "source/step", c.outputs("new", "step"))
	require.Equal(t, snapshot["step"].GetOutputUri(), c.storage("source", "a0").GetRunOutputBase()+"step/outputs.pb")

	for range 2 { // a repeated request changes nothing
		for _, name := range []string{"good", "bad", "mid", "fresh"} {
			c.call("new", "a0", name)
		}
		require.Zero(t, c.record(condition("new", "approve", core.SimpleType_STRING)))
	}
	for name, want := range map[string]common.ActionPhase{
		"good": recovered, "mid": recovered, "approve": recovered, "step": recovered, "bad": queued, "fresh": queued,
	} {
		details := c.details("new", name)
		require.Equal(t, want, details.GetStatus().GetPhase(), name)
		from := details.GetMetadata().GetRecoveredFrom()
		if want != recovered {
			require.Nil(t, from, name)
			continue
		}
		require.True(t, proto.Equal(actionID("source", name), from), "%s: %s", name, from)
		require.Len(t, details.GetAttempts(), 1, name)
		require.Equal(t, recovered, details.GetAttempts()[0].GetPhase(), name)
		require.NotNil(t, details.GetStatus().GetEndTime(), name)
	}
	require.Equal(t, "source/good", c.outputs("new", "good"))
	require.Equal(t, recovered, c.children("new", "bad")["inner"].GetPhase(), "a failed action keeps its traces")

	snapshot = c.children("new", "a0")
	require.Equal(t, "yes", snapshot["approve"].GetValue().GetScalar().GetPrimitive().GetStringValue())
	require.Equal(t, "yes", c.details("new", "approve").GetSignalInfo().GetOutput().GetScalar().GetPrimitive().GetStringValue())
	require.Equal(t, recovered, snapshot["good"].GetPhase())
	require.NotEmpty(t, snapshot["good"].GetOutputUri())

	var admitted int
	require.NoError(t, c.pool.QueryRow(t.Context(),
		`SELECT count(*) FROM actions WHERE phase = 10 AND (admitted_at IS NOT NULL OR hold <> 0 OR wake_at IS NOT NULL)`).Scan(&admitted))
	require.Zero(t, admitted)
	_, err := c.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("new")})
	require.NoError(t, err)
	require.Equal(t, recovered, c.phase("new", "good"), "a terminal phase is final")
}

func TestARepeatedRecoveryIsTheSameRun(t *testing.T) {
	c := failedRun(t)
	request := related("new", recover_, "source")
	c.create(request)
	c.create(request)
	_, err := c.pool.Exec(t.Context(), `DELETE FROM actions WHERE run_name = 'source'`)
	require.NoError(t, err)
	c.create(request)
	_, err = c.runs.CreateRun(t.Context(), related("new", recover_, "source", "good"))
	require.Equal(t, connect.CodeAlreadyExists, connect.CodeOf(err))
}

func TestForcedActionsRunAgainWithAllAboveThem(t *testing.T) {
	c := failedRun(t)
	c.create(related("new", recover_, "source", "leaf", "approve", "unknown"))
	for _, name := range []string{"good", "mid"} {
		c.call("new", "a0", name)
	}
	c.call("new", "mid", "leaf")
	require.Zero(t, c.record(condition("new", "approve", core.SimpleType_STRING)))
	require.Equal(t, recovered, c.phase("new", "good"))
	require.Equal(t, queued, c.phase("new", "mid"))
	require.Equal(t, queued, c.phase("new", "leaf"))
	require.Equal(t, paused, c.phase("new", "approve"), "it asks again")
	require.Equal(t, recovered, c.phase("new", "step"))

	c.create(related("forced-root", recover_, "source", "a0"))
	require.Empty(t, c.children("forced-root", "a0"), "what the root traced is part of what runs again")
	c.call("forced-root", "a0", "good")
	require.Equal(t, recovered, c.phase("forced-root", "good"), "forcing the root does not force what is below")

	c.create(related("forced-trace", recover_, "source", "step"))
	require.Empty(t, c.children("forced-trace", "a0"))
}

func TestOnlyTheSameTaskIsReused(t *testing.T) {
	c := failedRun(t)
	c.create(related("new", recover_, "source"))
	request := childTask("new", "a0", "good")
	request.Spec = &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: producing("renamed")}}
	require.Zero(t, c.record(request))
	require.Equal(t, queued, c.phase("new", "good"))
	require.Zero(t, c.record(condition("new", "approve", core.SimpleType_BOOLEAN)))
	require.Equal(t, paused, c.phase("new", "approve"))
	c.create(related("new2", recover_, "source"))
	spec := producing("child")
	spec.TaskTemplate.Type = "python-task"
	request = childTask("new2", "a0", "good")
	request.Spec = &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: spec}}
	require.Zero(t, c.record(request))
	require.Equal(t, queued, c.phase("new2", "good"))
	c.call("new2", "a0", "mid")
	c.call("new2", "a0", "bad")
	c.call("new2", "bad", "leaf")
	require.Equal(t, queued, c.phase("new2", "leaf"), "its parent was another action")
}

func TestMissingResultsAreRecomputed(t *testing.T) {
	c := failedRun(t)
	base := c.storage("source", "a0").GetRunOutputBase()
	require.NoError(t, c.blobs.Delete(t.Context(), base+"good/1/outputs.pb"))
	require.NoError(t, c.blobs.Delete(t.Context(), base+"step/outputs.pb"))
	c.create(related("new", recover_, "source"))
	require.Empty(t, c.children("new", "a0"))
	c.call("new", "a0", "good")
	require.Equal(t, queued, c.phase("new", "good"))

	// The source is deleted with all its actions, and another run takes its name.
	_, err := c.pool.Exec(t.Context(), `DELETE FROM actions WHERE run_name = 'source'`)
	require.NoError(t, err)
	c.create(runOf("source"))
	c.call("source", "a0", "mid")
	c.succeed("source", "mid")
	c.call("new", "a0", "mid")
	require.Equal(t, queued, c.phase("new", "mid"), "the name alone is not the run")
}

func TestTasksWithoutOutputsAreReusedToo(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(runOf("source"))
	c.child("source", "a0", "void")
	c.report(transition("source", "void", 1, succeeded), transition("source", "a0", 1, failed))
	c.create(related("new", recover_, "source"))
	c.child("new", "a0", "void")
	require.Equal(t, recovered, c.phase("new", "void"))
	preview, err := c.insight.PreviewRecovery(t.Context(), &insightv1.PreviewRecoveryRequest{RunId: runID("source")})
	require.NoError(t, err)
	require.EqualValues(t, 1, preview.GetReused())
}

func TestARecoveredRunCanBeRecovered(t *testing.T) {
	c := failedRun(t)
	c.create(related("second", recover_, "source"))
	c.call("second", "a0", "good")
	c.call("second", "a0", "mid")
	c.report(transition("second", "a0", 1, failed))

	c.create(related("third", recover_, "second", "mid"))
	c.call("third", "a0", "good")
	require.True(t, proto.Equal(actionID("source", "good"), c.details("third", "good").GetMetadata().GetRecoveredFrom()), "the origin")
	require.True(t, proto.Equal(actionID("source", "step"), c.details("third", "step").GetMetadata().GetRecoveredFrom()))
	c.call("third", "a0", "mid")
	require.Equal(t, queued, c.phase("third", "mid"))
	c.call("third", "mid", "leaf")
	require.Equal(t, recovered, c.phase("third", "leaf"), "the second run did not need it; the first made it")
	c.report(transition("third", "a0", 1, failed))

	// What one recovery had to run again, the next one does not reuse from an earlier run.
	c.create(related("fourth", recover_, "source", "good", "approve"))
	c.report(transition("fourth", "a0", 1, failed))
	c.create(related("fifth", recover_, "fourth"))
	c.call("fifth", "a0", "good")
	require.Equal(t, queued, c.phase("fifth", "good"))
	require.Zero(t, c.record(condition("fifth", "approve", core.SimpleType_STRING)))
	require.Equal(t, paused, c.phase("fifth", "approve"))
	c.call("fifth", "a0", "mid")
	require.Equal(t, recovered, c.phase("fifth", "mid"))
}

func TestARunThatSucceededIsRecoveredWhole(t *testing.T) {
	c := newWriteFixture(t, nil)
	source := runOf("source")
	source.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: text("1")}}}}
	c.create(source)
	c.call("source", "a0", "good")
	c.succeed("source", "good")
	c.succeed("source", "a0")
	with := func(request *workflow.CreateRunRequest, value string) *workflow.CreateRunRequest {
		request.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: text(value)}}}}
		return request
	}
	run := c.create(with(related("whole", recover_, "source"), "1"))
	require.Equal(t, recovered, run.GetAction().GetStatus().GetPhase())
	require.Equal(t, "source/a0", c.outputs("whole", "a0"))
	require.Equal(t, connect.CodeAborted, c.record(childTask("whole", "a0", "late")))

	c.create(with(related("inputs", recover_, "source"), "2"))
	require.Equal(t, queued, c.phase("inputs", "a0"), "it is another call")
	c.create(with(related("forced", recover_, "source", "good"), "1"))
	require.Equal(t, queued, c.phase("forced", "a0"))
	c.create(with(related("nothing-forced", recover_, "source", "unknown"), "1"))
	require.Equal(t, recovered, c.phase("nothing-forced", "a0"))
	other := with(related("other-task", recover_, "source"), "1")
	other.GetTaskSpec().TaskTemplate.Id.Version = "v2"
	c.create(other)
	require.Equal(t, queued, c.phase("other-task", "a0"))
}

func TestAClientMayNameTheResult(t *testing.T) {
	c := failedRun(t)
	c.create(runOf("new"))
	ask := func(name string, from *common.ActionIdentifier) connect.Code {
		request := childTask("new", "a0", name)
		request.Spec = &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: producing("child")}}
		request.RecoveredFrom = from
		return c.record(request)
	}
	require.Zero(t, ask("one", actionID("source", "good")))
	require.Equal(t, recovered, c.phase("new", "one"))
	require.Zero(t, ask("two", actionID("source", "bad")))
	require.Equal(t, queued, c.phase("new", "two"))
	require.Nil(t, c.details("new", "two").GetMetadata().GetRecoveredFrom(), "nothing was recovered")
	require.Zero(t, ask("three", actionID("none", "good")))
	require.Equal(t, queued, c.phase("new", "three"))
	elsewhere := actionID("source", "good")
	elsewhere.Run.Domain = "production"
	require.Equal(t, connect.CodeInvalidArgument, ask("four", elsewhere))
}

func TestARetriedParentSeesWhatWasRecovered(t *testing.T) {
	c := failedRun(t)
	c.create(related("new", recover_, "source"))
	c.call("new", "a0", "good")
	c.report(transition("new", "a0", 1, running), transition("new", "a0", 1, failed), transition("new", "a0", 2, queued))
	snapshot := c.children("new", "a0")
	require.Equal(t, recovered, snapshot["good"].GetPhase())
	require.Equal(t, recovered, snapshot["step"].GetPhase())
}

func TestPreviewOfARecovery(t *testing.T) {
	c := failedRun(t)
	preview := func(change func(*insightv1.PreviewRecoveryRequest)) *insightv1.PreviewRecoveryResponse {
		request := &insightv1.PreviewRecoveryRequest{RunId: runID("source")}
		if change != nil {
			change(request)
		}
		response, err := c.insight.PreviewRecovery(t.Context(), request)
		require.NoError(t, err)
		return response
	}
	table := func(response *insightv1.PreviewRecoveryResponse) map[string]string {
		reasons := map[string]string{}
		for _, a := range response.GetActions() {
			require.Equal(t, a.GetReason() == "", a.GetReused())
			reasons[a.GetName()] = a.GetReason()
		}
		return reasons
	}
	all := preview(nil)
	require.Equal(t, map[string]string{
		"a0": "Failed", "good": "", "bad": "Failed", "mid": "", "leaf": "",
		"step": "", "oops": "Failed", "inner": "", "approve": "",
	}, table(all))
	require.EqualValues(t, 6, all.GetReused())
	require.EqualValues(t, 3, all.GetRerun())
	require.Empty(t, all.GetToken())

	base := c.storage("source", "a0").GetRunOutputBase()
	require.NoError(t, c.blobs.Delete(t.Context(), base+"good/1/outputs.pb"))
	forced := preview(func(r *insightv1.PreviewRecoveryRequest) { r.ForceRerunActions = []string{"leaf", "bad", "unknown"} })
	require.Equal(t, map[string]string{
		"a0": "Failed", "good": "outputs are gone", "bad": "must run again: requested",
		"mid": "an action below must run again", "leaf": "must run again: requested",
		"step": "", "oops": "Failed", "inner": "the action that made it must run again: requested", "approve": "",
	}, table(forced))
	require.EqualValues(t, 2, forced.GetReused())
	require.EqualValues(t, 7, forced.GetRerun())

	pages := map[string]string{}
	token := ""
	for range 5 {
		page := preview(func(r *insightv1.PreviewRecoveryRequest) { r.Limit, r.Token = 2, token })
		require.LessOrEqual(t, len(page.GetActions()), 2)
		for name, reason := range table(page) {
			pages[name] = reason
		}
		token = page.GetToken()
	}
	require.Empty(t, token)
	require.Len(t, pages, 9)

	_, err := c.insight.PreviewRecovery(t.Context(), &insightv1.PreviewRecoveryRequest{RunId: runID("none")})
	refused(t, err, connect.CodeNotFound, "none")
	_, err = c.insight.PreviewRecovery(t.Context(), &insightv1.PreviewRecoveryRequest{RunId: runID("source"), Token: "x"})
	refused(t, err, connect.CodeInvalidArgument, "token")
	require.True(t, protomap.Terminal(recovered))
}

func TestARecoveredConditionWaitsForNothing(t *testing.T) {
	c := failedRun(t)
	c.create(related("new", recover_, "source"))
	request := condition("new", "approve", core.SimpleType_STRING)
	asked := request.GetCondition()
	asked.Timeout = durationpb.New(time.Minute)
	asked.Webhook = &workflow.ConditionWebhook{Url: "http://127.0.0.1:1/never"}
	require.Zero(t, c.record(request))
	require.Equal(t, recovered, c.phase("new", "approve"))
	var waiting int
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT count(*) FROM actions WHERE phase = 10 AND wake_at IS NOT NULL`).Scan(&waiting))
	require.Zero(t, waiting)
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT count(*) FROM webhooks`).Scan(&waiting))
	require.Zero(t, waiting, "no webhook waits")
}

// BenchmarkRecordingOfChildren compares children that run with children whose result is reused; the difference is the
// cost of reading the source.
func BenchmarkRecordingOfChildren(b *testing.B) {
	c := newWriteFixture(b, nil)
	c.create(runOf("source"))
	const children = 1000
	parallel := func(do func(name string)) {
		var group sync.WaitGroup
		for worker := range 50 {
			group.Go(func() {
				for i := worker; i < children; i += 50 {
					do(fmt.Sprint("c", i))
				}
			})
		}
		group.Wait()
	}
	parallel(func(name string) { c.call("source", "a0", name); c.succeed("source", name) })
	c.report(transition("source", "a0", 1, failed))
	for _, kind := range []common.RelationType{rerun, recover_} {
		b.Run(kind.String(), func(b *testing.B) {
			for i := range b.N {
				run := fmt.Sprintf("r%d-%d-%d", kind, b.N, i)
				c.create(related(run, kind, "source"))
				parallel(func(name string) { c.call(run, "a0", name) })
			}
			b.ReportMetric(float64(b.N*children)/b.Elapsed().Seconds(), "actions/s")
		})
	}
}
