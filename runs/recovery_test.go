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
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/runs/view"
)

const (
	recovered = common.ActionPhase_ACTION_PHASE_RECOVERED
	rerun     = common.RelationType_RELATION_TYPE_RERUN
	recover_  = common.RelationType_RELATION_TYPE_RECOVER
)

// producing is a task that has an output.
func producing(name string) *task.TaskSpec {
	spec := taskSpec(name)
	spec.TaskTemplate.Interface = &core.TypedInterface{Outputs: &core.VariableMap{
		Variables: []*core.VariableEntry{{Key: "o0", Value: &core.Variable{}}},
	}}
	return spec
}

func runOf(name string) *workflow.CreateRunRequest {
	request := namedRun(name)
	request.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: producing("main")}
	return request
}

func related(name string, kind common.RelationType, source string, force ...string) *workflow.CreateRunRequest {
	request := runOf(name)
	request.RunSpec = &task.RunSpec{Relation: &common.Relation{RelatedTo: runID(source), RelationType: kind}}
	if len(force) > 0 {
		request.RunSpec.Recover = &task.Recover{ForceRerunActions: force}
	}
	return request
}

func (c *changing) call(run, parent, name string) {
	c.t.Helper()
	request := childTask(run, parent, name)
	request.Spec = &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: producing("child")}}
	require.Zero(c.t, c.record(request))
}

// succeed ends an action well, with the outputs that say who made them.
func (c *changing) succeed(run, name string) {
	c.t.Helper()
	dir := layout.AttemptDir(c.storage(run, name).GetRunOutputBase(), name, 1)
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), dir+"/outputs.pb", []byte(run+"/"+name)))
	c.report(transition(run, name, 1, succeeded))
}

func (c *changing) trace(run, parent, name string, phase common.ActionPhase) {
	c.t.Helper()
	base := c.storage(run, "a0").GetRunOutputBase()
	action := &workflow.TraceAction{
		Name: "step", Phase: phase, Spec: &task.TraceSpec{}, StartTime: timestamppb.Now(), EndTime: timestamppb.Now(),
	}
	if phase == succeeded {
		uri := base + name + "/outputs.pb"
		require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), uri, []byte(run+"/"+name)))
		action.Outputs = &task.OutputReferences{OutputUri: uri}
	}
	require.Zero(c.t, c.record(&workflow.RecordActionRequest{
		ActionId: actionID(run, name), Parent: parent, InputUri: "in", Group: "g", Spec: &workflow.RecordActionRequest_Trace{Trace: action},
	}))
}

// outputs reads what the result of an action is.
func (c *changing) outputs(run, name string) string {
	c.t.Helper()
	response, err := c.runs.GetActionDataURIs(c.t.Context(), &workflow.GetActionDataURIsRequest{ActionId: actionID(run, name)})
	require.NoError(c.t, err)
	body, err := c.blobs.ReadAll(c.t.Context(), response.GetOutputsUri(), 1<<20)
	require.NoError(c.t, err)
	return string(body)
}

// children reads the first snapshot of a parent's watch.
func (c *changing) children(run, parent string) map[string]*workflow.ActionUpdate {
	c.t.Helper()
	stream, err := c.engine.WatchChildren(c.t.Context(), &enginev1.WatchChildrenRequest{Parent: actionID(run, parent)})
	require.NoError(c.t, err)
	defer func() { _ = stream.Close() }()
	found := map[string]*workflow.ActionUpdate{}
	for stream.Receive() {
		update := stream.Msg().GetMessage().GetActionUpdate()
		if update == nil {
			break
		}
		found[update.GetActionId().GetName()] = update
	}
	require.NoError(c.t, stream.Err())
	return found
}

// failedRun is a run with a finished child, one that failed, a finished subtree, traces and a condition.
func failedRun(t *testing.T) *changing {
	t.Helper()
	c := newChanging(t, nil)
	c.create(runOf("source"))
	c.call("source", "a0", "good")
	c.call("source", "a0", "bad")
	c.call("source", "a0", "mid")
	c.call("source", "mid", "leaf")
	c.trace("source", "a0", "step", succeeded)
	c.trace("source", "a0", "oops", failed)
	c.trace("source", "bad", "inner", succeeded)
	require.Zero(t, c.record(condition("source", "approve", core.SimpleType_STRING)))
	_, err := c.runs.SignalEvent(t.Context(), &workflow.SignalEventRequest{
		ActionId: actionID("source", "approve"), Payload: &workflow.EventPayload{Value: &workflow.EventPayload_StringValue{StringValue: "yes"}},
	})
	require.NoError(t, err)
	for _, name := range []string{"good", "leaf", "mid"} {
		c.succeed("source", name)
	}
	c.report(transition("source", "bad", 1, failed), transition("source", "a0", 1, failed))
	return c
}

func TestARerunOnlyRemembersItsSource(t *testing.T) {
	c := failedRun(t)
	c.create(related("again", rerun, "source"))
	c.call("again", "a0", "good")
	require.Equal(t, queued, c.phase("again", "good"), "everything runs")
	require.Empty(t, c.children("again", "a0")["step"])
	relation := c.details("again", "a0").GetMetadata().GetRelation()
	require.Equal(t, "source", relation.GetRelatedTo().GetName())
	require.Equal(t, rerun, relation.GetRelationType())
	require.Nil(t, c.details("again", "good").GetMetadata().GetRelation())

	older := runOf("older-client")
	older.RunSpec = &task.RunSpec{RelatedTo: runID("source")}
	c.create(older)
	c.create(related("recovering", recover_, "source"))
	c.create(related("other", rerun, "again"))
	names := func(filters ...*common.Filter) (names []string) {
		response, err := c.runs.ListRuns(t.Context(), &workflow.ListRunsRequest{
			ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
			Request: &common.ListRequest{Filters: filters},
		})
		require.NoError(t, err)
		for _, run := range response.GetRuns() {
			names = append(names, run.GetAction().GetId().GetRun().GetName())
			if run.GetAction().GetId().GetRun().GetName() == "older-client" {
				require.Equal(t, rerun, run.GetAction().GetMetadata().GetRelation().GetRelationType())
			}
		}
		return names
	}
	equal := func(field, value string) *common.Filter {
		return &common.Filter{Function: common.Filter_EQUAL, Field: field, Values: []string{value}}
	}
	require.Equal(t, []string{"recovering", "older-client", "again"}, names(equal("related_to", "source")))
	require.Equal(t, []string{"recovering"}, names(equal("related_to", "source"), equal("relation_type", "recover")))
	require.Empty(t, names(equal("related_to", "nobody")))
}

func TestRelationsAreChecked(t *testing.T) {
	c := newChanging(t, nil)
	c.create(runOf("source"))
	for name, test := range map[string]struct {
		change func(*task.RunSpec)
		code   connect.Code
		says   string
	}{
		"unknown run":     {func(s *task.RunSpec) { s.Relation.RelatedTo.Name = "none" }, connect.CodeNotFound, "none"},
		"other project":   {func(s *task.RunSpec) { s.Relation.RelatedTo.Project = "elsewhere" }, connect.CodeInvalidArgument, "run_spec.relation.related_to"},
		"other domain":    {func(s *task.RunSpec) { s.Relation.RelatedTo.Domain = "production" }, connect.CodeInvalidArgument, "run_spec.relation.related_to"},
		"itself":          {func(s *task.RunSpec) { s.Relation.RelatedTo.Name = "new" }, connect.CodeInvalidArgument, "run_spec.relation.related_to.name"},
		"nobody":          {func(s *task.RunSpec) { s.Relation.RelatedTo.Name = "" }, connect.CodeInvalidArgument, "related_to.name"},
		"no type":         {func(s *task.RunSpec) { s.Relation.RelationType = 0 }, connect.CodeInvalidArgument, "relation_type"},
		"unknown type":    {func(s *task.RunSpec) { s.Relation.RelationType = 99 }, connect.CodeInvalidArgument, "relation_type"},
		"recover, no rel": {func(s *task.RunSpec) { s.Relation, s.Recover = nil, &task.Recover{} }, connect.CodeInvalidArgument, "run_spec.recover"},
		"recover, rerun":  {func(s *task.RunSpec) { s.Recover = &task.Recover{} }, connect.CodeInvalidArgument, "run_spec.recover"},
		"two sources":     {func(s *task.RunSpec) { s.RelatedTo = runID("other") }, connect.CodeInvalidArgument, "run_spec.related_to"},
		"older, unknown":  {func(s *task.RunSpec) { s.Relation, s.RelatedTo = nil, runID("none") }, connect.CodeNotFound, "none"},
		"no name to force": {func(s *task.RunSpec) {
			s.Relation.RelationType, s.Recover = recover_, &task.Recover{ForceRerunActions: []string{""}}
		}, connect.CodeInvalidArgument, "force_rerun_actions"},
		"two equal sources": {func(s *task.RunSpec) { s.RelatedTo = runID("source") }, 0, ""},
		"short source": {func(s *task.RunSpec) {
			s.Relation.RelatedTo = &common.RunIdentifier{Org: "any", Project: "flytesnacks", Domain: "development", Name: "source"}
		}, 0, ""},
		"recover of an unfinished run": {func(s *task.RunSpec) { s.Relation.RelationType = recover_ }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			request := related("new", rerun, "source")
			if test.code == 0 {
				request = related(fmt.Sprintf("ok%d", len(name)), rerun, "source")
			}
			test.change(request.GetRunSpec())
			_, err := c.runs.CreateRun(t.Context(), request)
			if test.code == 0 {
				require.NoError(t, err)
				return
			}
			refused(t, err, test.code, test.says)
		})
	}
	t.Run("a spawned run goes ahead without its parent", func(t *testing.T) {
		c.create(related("spawned", common.RelationType_RELATION_TYPE_SPAWN, "elsewhere"))
		require.Nil(t, c.details("spawned", "a0").GetMetadata().GetRelation())
		c.create(related("spawned2", common.RelationType_RELATION_TYPE_SPAWN, "source"))
		require.Equal(t, "source", c.details("spawned2", "a0").GetMetadata().GetRelation().GetRelatedTo().GetName())
	})
}

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
	require.Equal(t, recovered, c.phase("new", "good"), "an end is an end")
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
	require.Equal(t, recovered, c.phase("forced-root", "good"), "what is below is listed apart")

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
	spec.TaskTemplate.Type = "other"
	request = childTask("new2", "a0", "good")
	request.Spec = &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: spec}}
	require.Zero(t, c.record(request))
	require.Equal(t, queued, c.phase("new2", "good"))
	c.call("new2", "a0", "mid")
	c.call("new2", "a0", "bad")
	c.call("new2", "bad", "leaf")
	require.Equal(t, queued, c.phase("new2", "leaf"), "its parent was another action")
}

func TestResultsThatAreGoneAreMadeAgain(t *testing.T) {
	c := failedRun(t)
	base := c.storage("source", "a0").GetRunOutputBase()
	require.NoError(t, c.blobs.Delete(t.Context(), base+"good/1/outputs.pb"))
	require.NoError(t, c.blobs.Delete(t.Context(), base+"step/outputs.pb"))
	c.create(related("new", recover_, "source"))
	require.Empty(t, c.children("new", "a0"))
	c.call("new", "a0", "good")
	require.Equal(t, queued, c.phase("new", "good"))

	// Deleted with all that is known of it, and its name taken by another run.
	_, err := c.pool.Exec(t.Context(), `DELETE FROM actions WHERE run_name = 'source'`)
	require.NoError(t, err)
	c.create(runOf("source"))
	c.call("source", "a0", "mid")
	c.succeed("source", "mid")
	c.call("new", "a0", "mid")
	require.Equal(t, queued, c.phase("new", "mid"), "the name alone is not the run")
}

func TestTasksWithoutOutputsAreReusedToo(t *testing.T) {
	c := newChanging(t, nil)
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
	require.Equal(t, recovered, c.phase("third", "leaf"), "the second run had no need of it, the first made it")
	c.report(transition("third", "a0", 1, failed))

	// What one recovery was told to run again, the next does not take from before.
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
	c := newChanging(t, nil)
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
	require.Nil(t, c.details("new", "two").GetMetadata().GetRecoveredFrom(), "what did not happen is not told")
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
		"a0": "did not succeed: FAILED", "good": "", "bad": "did not succeed: FAILED", "mid": "", "leaf": "",
		"step": "", "oops": "did not succeed: FAILED", "inner": "", "approve": "",
	}, table(all))
	require.EqualValues(t, 6, all.GetReused())
	require.EqualValues(t, 3, all.GetRerun())
	require.Empty(t, all.GetToken())

	base := c.storage("source", "a0").GetRunOutputBase()
	require.NoError(t, c.blobs.Delete(t.Context(), base+"good/1/outputs.pb"))
	forced := preview(func(r *insightv1.PreviewRecoveryRequest) { r.ForceRerunActions = []string{"leaf", "bad", "unknown"} })
	require.Equal(t, map[string]string{
		"a0": "did not succeed: FAILED", "good": "outputs are gone", "bad": "must run again: requested",
		"mid": "an action below must run again", "leaf": "must run again: requested",
		"step": "", "oops": "did not succeed: FAILED", "inner": "the action that made it must run again: requested", "approve": "",
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
	require.True(t, view.Terminal(recovered))
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
	require.Zero(t, waiting, "nobody is asked")
}

// BenchmarkRecordingOfChildren compares children that run with children whose result is reused: what the looks into the
// source cost.
func BenchmarkRecordingOfChildren(b *testing.B) {
	c := newChanging(b, nil)
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
