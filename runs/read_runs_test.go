package runs_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// told is a stored run with one action of each sort: the root that failed once and was retried, a task that succeeded,
// a trace, a paused condition, an aborted task.
type told struct {
	*readFixture
	rootSpec *task.TaskSpec
	runSpec  *task.RunSpec
	id       *common.RunIdentifier
}

func encode(t *testing.T, message proto.Message) []byte {
	t.Helper()
	body, err := proto.Marshal(message)
	require.NoError(t, err)
	return body
}

func newTold(t *testing.T) *told {
	t.Helper()
	s := &told{
		readFixture: newReadFixture(t, nil),
		rootSpec:    &task.TaskSpec{ShortName: "main", TaskTemplate: &core.TaskTemplate{Type: "python", Config: map[string]string{"a": "b"}}},
		runSpec:     &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"team": "ml"}}, Queue: "q", MaxActionConcurrency: 3},
		id:          &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: "told"},
	}
	spec := func(kind schema.SpecKind, message proto.Message) []byte {
		digest, err := storetest.InsertSpec(t.Context(), s.pool, kind, message)
		require.NoError(t, err)
		return digest
	}
	now := s.clock.Now()
	add := func(id int64, name string, change func(*schema.Root)) {
		row := schema.Root{}
		row.ID, row.RunID, row.Project, row.Domain, row.RunName, row.Name = id, 1, s.id.GetProject(), s.id.GetDomain(), s.id.GetName(), name
		row.ActionType, row.CreatedAt, row.TaskName = 1, now.Add(time.Duration(id)*time.Microsecond), name
		if id > 1 {
			parent := "a0"
			row.ParentName = &parent
		}
		change(&row)
		require.NoError(t, storetest.Insert(t.Context(), s.pool, row))
	}
	end := now.Add(2500 * time.Millisecond)
	add(1, "a0", func(r *schema.Root) {
		r.Phase, r.Attempt, r.Labels, r.Source, r.TaskVersion = 4, 2, s.runSpec.GetLabels().GetValues(), 2, "v1"
		r.SpecDigest, r.RunSpecDigest, r.InputURI = spec(schema.SpecTask, s.rootSpec), spec(schema.SpecRun, s.runSpec), "/data/told/inputs"
		r.FunctionName, r.EnvironmentName, r.CreatedBySubject = "main", "env", "anonymous"
		r.CreatedBy = encode(t, &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{Id: &common.UserIdentifier{Subject: "anonymous"}}}})
	})
	add(2, "child", func(r *schema.Root) {
		r.Phase, r.EndedAt, r.InputURI, r.OutputURI, r.ActionGroup = 5, &end, "/data/told/child/inputs.pb", "/data/told/child/1", "g"
		r.SpecDigest = spec(schema.SpecTask, &task.TaskSpec{ShortName: "child"})
	})
	add(3, "trace", func(r *schema.Root) {
		r.ActionType, r.Phase, r.EndedAt, r.OutputURI = 2, 5, &end, "/data/told/trace/outputs.pb"
		r.SpecDigest = spec(schema.SpecTrace, &task.TraceSpec{Interface: &core.TypedInterface{}})
	})
	add(4, "cond", func(r *schema.Root) {
		r.ActionType, r.Phase, r.EndedAt, r.TaskName = 3, 5, &end, "approve"
		r.SpecDigest = spec(schema.SpecCondition, &workflow.ConditionAction{
			Name: "approve", Prompt: "ok?", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
		})
		r.Signal = encode(t, &workflow.SignalInfo{Output: &core.Literal{Hash: "signalled"}})
	})
	add(5, "gone", func(r *schema.Root) {
		r.Phase, r.EndedAt, r.AbortReason, r.InputURI = 7, &end, "enough", "/data/told/gone/inputs.pb"
		r.SpecDigest = spec(schema.SpecTask, &task.TaskSpec{ShortName: "gone"})
	})
	event := func(seq int64, attempt int32, phase int16, report *workflow.ActionEvent, failure *core.ExecutionError) {
		row := schema.Event{RunID: 1, Seq: seq, ActionID: 1, Attempt: attempt, Phase: phase, RecordedAt: now.Add(time.Duration(seq) * time.Second)}
		if report != nil {
			row.Event = encode(t, report)
		}
		if failure != nil {
			row.Error = encode(t, failure)
		}
		require.NoError(t, storetest.InsertEvents(t.Context(), s.pool, row))
	}
	event(1, 1, 1, nil, nil)
	event(2, 1, 4, &workflow.ActionEvent{LogContext: &core.LogContext{PrimaryPodName: "told-0"}, Cluster: "here"}, nil)
	event(3, 1, 6, &workflow.ActionEvent{}, &core.ExecutionError{Message: "boom", Code: "X", Kind: core.ExecutionError_USER})
	event(4, 2, 1, nil, nil)
	event(5, 2, 4, &workflow.ActionEvent{}, nil)
	return s
}

func (s *told) action(name string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: s.id, Name: name}
}

func TestGetRunDetails(t *testing.T) {
	s := newTold(t)
	response, err := s.runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: s.id})
	require.NoError(t, err)
	details := response.GetDetails()
	require.True(t, proto.Equal(s.runSpec, details.GetRunSpec()), "the run spec as it was requested")
	require.True(t, proto.Equal(s.rootSpec, details.GetAction().GetTask()), "the task spec in full")
	require.Equal(t, timestamppb.New(s.clock.Now().Add(time.Microsecond)).AsTime(), details.GetAction().GetStatus().GetStartTime().AsTime(), "to the microsecond")
	require.Equal(t, uint32(2), details.GetAction().GetStatus().GetAttempts())
	require.Len(t, details.GetAction().GetAttempts(), 2)
	require.Equal(t, "boom", details.GetAction().GetAttempts()[0].GetErrorInfo().GetMessage())
	require.Nil(t, details.GetAction().GetResult(), "it is still running")

	_, err = s.runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: &common.RunIdentifier{Project: "flytesnacks", Domain: "staging", Name: "told"}})
	refused(t, err, connect.CodeNotFound, "flytesnacks/staging/told")
}

func TestGetActionDetails(t *testing.T) {
	s := newTold(t)
	get := func(name string) *workflow.ActionDetails {
		response, err := s.runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: s.action(name)})
		require.NoError(t, err)
		require.True(t, proto.Equal(s.action(name), response.GetDetails().GetId()))
		return response.GetDetails()
	}
	child := get("child")
	require.Equal(t, "a0", child.GetMetadata().GetParent())
	require.Equal(t, "g", child.GetMetadata().GetGroup())
	require.Equal(t, uint64(2499), child.GetStatus().GetDurationMs(), "2,499.998 ms")
	require.Equal(t, "/data/told/child/1/outputs.pb", child.GetAttempts()[0].GetOutputs().GetOutputUri())
	require.Equal(t, "trace", get("trace").GetMetadata().GetTrace().GetName())
	require.NotNil(t, get("trace").GetTrace().GetInterface())
	require.Equal(t, "signalled", get("cond").GetSignalInfo().GetOutput().GetHash())
	require.Equal(t, "enough", get("gone").GetAbortInfo().GetReason())

	for name, id := range map[string]*common.ActionIdentifier{"nil": nil, "no run": {Name: "x"}, "no name": {Run: s.id}} {
		_, err := s.runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: id})
		refused(t, err, connect.CodeInvalidArgument, "action_id")
		_, err = s.runs.GetActionDataURIs(t.Context(), &workflow.GetActionDataURIsRequest{ActionId: id})
		refused(t, err, connect.CodeInvalidArgument, "action_id")
		_ = name
	}
	_, err := s.runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: s.action("none")})
	refused(t, err, connect.CodeNotFound, "told/none")
}

func TestListActions(t *testing.T) {
	s := newTold(t)
	response, err := s.runs.ListActions(t.Context(), &workflow.ListActionsRequest{RunId: s.id})
	require.NoError(t, err)
	require.Empty(t, response.GetToken())
	var names []string
	for _, action := range response.GetActions() {
		names = append(names, action.GetId().GetName())
		details, err := s.runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: action.GetId()})
		require.NoError(t, err)
		require.True(t, proto.Equal(details.GetDetails().GetMetadata(), action.GetMetadata()), "items carry the whole metadata")
		require.True(t, proto.Equal(details.GetDetails().GetStatus(), action.GetStatus()))
	}
	require.Equal(t, []string{"a0", "child", "trace", "cond", "gone"}, names, "oldest first")
	require.Equal(t, core.SimpleType_BOOLEAN, response.GetActions()[3].GetMetadata().GetCondition().GetType().GetSimple())

	for name, test := range map[string]struct {
		filters []*common.Filter
		want    int
	}{
		"conditions":  {[]*common.Filter{{Field: "action_type", Values: []string{"3"}}}, 1},
		"of a parent": {[]*common.Filter{{Field: "parent_name", Values: []string{"a0"}}}, 4},
		"no parent":   {[]*common.Filter{{Field: "parent_name", Function: common.Filter_NOT_EXISTS}}, 1},
		"running":     {[]*common.Filter{{Field: "phase", Values: []string{"4"}}}, 1},
		"ended":       {[]*common.Filter{{Field: "phase", Function: common.Filter_VALUE_IN, Values: []string{"4", "5"}}}, 4},
	} {
		response, err := s.runs.ListActions(t.Context(), &workflow.ListActionsRequest{RunId: s.id, Request: &common.ListRequest{Filters: test.filters}})
		require.NoError(t, err, name)
		require.Len(t, response.GetActions(), test.want, name)
	}
	_, err = s.runs.ListActions(t.Context(), &workflow.ListActionsRequest{RunId: &common.RunIdentifier{Project: "p", Domain: "d", Name: "none"}})
	refused(t, err, connect.CodeNotFound, "p/d/none")
	_, err = s.runs.ListActions(t.Context(), &workflow.ListActionsRequest{RunId: s.id, Request: &common.ListRequest{Limit: 201}})
	refused(t, err, connect.CodeInvalidArgument, "request.limit")
}

func TestListRunsOverTheWire(t *testing.T) {
	s := newTold(t)
	project := &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}}
	response, err := s.runs.ListRuns(t.Context(), &workflow.ListRunsRequest{ScopeBy: project, Request: &common.ListRequest{
		Limit: 100, SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING},
		Filters: []*common.Filter{{Field: "labels.team", Values: []string{"ml"}}, {Field: "created_by", Values: []string{"anonymous"}}},
	}})
	require.NoError(t, err)
	require.Len(t, response.GetRuns(), 1)
	run := response.GetRuns()[0]
	require.Equal(t, map[string]string{"team": "ml"}, run.GetLabels())
	require.True(t, proto.Equal(s.action("a0"), run.GetAction().GetId()))
	require.Equal(t, workflow.RunSource_RUN_SOURCE_CLI, run.GetAction().GetMetadata().GetSource())
	require.Equal(t, "v1", run.GetAction().GetMetadata().GetTask().GetId().GetVersion())
	require.Equal(t, "anonymous", run.GetAction().GetMetadata().GetExecutedBy().GetUser().GetId().GetSubject())

	for name, scope := range map[string]*workflow.ListRunsRequest{
		"org":          {ScopeBy: &workflow.ListRunsRequest_Org{Org: ""}},
		"task name":    {ScopeBy: &workflow.ListRunsRequest_TaskName{TaskName: &task.TaskName{Project: "flytesnacks", Domain: "development", Name: "a0"}}},
		"task version": {ScopeBy: &workflow.ListRunsRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "flytesnacks", Domain: "development", Name: "a0", Version: "v1"}}},
	} {
		response, err := s.runs.ListRuns(t.Context(), scope)
		require.NoError(t, err, name)
		require.Len(t, response.GetRuns(), 1, name)
	}
	for name, scope := range map[string]*workflow.ListRunsRequest{
		"other domain":  {ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "staging"}}},
		"other version": {ScopeBy: &workflow.ListRunsRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "flytesnacks", Domain: "development", Name: "a0", Version: "v2"}}},
		"trigger":       {ScopeBy: &workflow.ListRunsRequest_TriggerName{TriggerName: &common.TriggerName{Project: "flytesnacks", Domain: "development", Name: "t", TaskName: "a0"}}},
		"paused":        {ScopeBy: project, PausedActionsOnly: true},
	} {
		response, err := s.runs.ListRuns(t.Context(), scope)
		require.NoError(t, err, name)
		require.Empty(t, response.GetRuns(), name)
	}
	for text, want := range map[string]int{run.GetAction().GetId().GetRun().GetName(): 1, strings.ToUpper(run.GetAction().GetMetadata().GetTask().GetId().GetName()): 1, "neither": 0} {
		response, err := s.runs.ListRuns(t.Context(), &workflow.ListRunsRequest{ScopeBy: project, Request: &common.ListRequest{Filters: []*common.Filter{
			{Function: common.Filter_CONTAINS_CASE_INSENSITIVE, Field: "name_or_task", Values: []string{text}},
		}}})
		require.NoError(t, err, text)
		require.Len(t, response.GetRuns(), want, text)
	}
	_, err = s.runs.ListRuns(t.Context(), &workflow.ListRunsRequest{})
	refused(t, err, connect.CodeInvalidArgument, "scope_by")
}

func TestActionData(t *testing.T) {
	s := newTold(t)
	uris := func(name string) *workflow.GetActionDataURIsResponse {
		response, err := s.runs.GetActionDataURIs(t.Context(), &workflow.GetActionDataURIsRequest{ActionId: s.action(name)})
		require.NoError(t, err)
		return response
	}
	require.Equal(t, "/data/told/inputs/inputs.pb", uris("a0").GetInputsUri())
	require.Empty(t, uris("a0").GetOutputsUri(), "not yet")
	require.Equal(t, "/data/told/child/inputs.pb", uris("child").GetInputsUri())
	require.Equal(t, "/data/told/child/1/outputs.pb", uris("child").GetOutputsUri())
	require.Equal(t, "/data/told/trace/outputs.pb", uris("trace").GetOutputsUri())
	require.Empty(t, uris("cond").GetOutputsUri())

	inputs := &task.Inputs{Context: []*core.KeyValuePair{{Key: "k", Value: "v"}}}
	outputs := &task.Outputs{Literals: []*task.NamedLiteral{{Name: "o0", Value: &core.Literal{Hash: "h"}}}}
	s.blobs.objects["/data/told/child/inputs.pb"] = encode(t, inputs)
	s.blobs.objects["/data/told/child/1/outputs.pb"] = encode(t, outputs)
	data := func(name string) (*workflow.GetActionDataResponse, error) {
		return s.runs.GetActionData(t.Context(), &workflow.GetActionDataRequest{ActionId: s.action(name)})
	}
	child, err := data("child")
	require.NoError(t, err)
	require.True(t, proto.Equal(inputs, child.GetInputs()))
	require.True(t, proto.Equal(outputs, child.GetOutputs()))
	going, err := data("a0")
	require.NoError(t, err, "a running action may have nothing yet")
	require.Empty(t, going.GetOutputs().GetLiterals())
	condition, err := data("cond")
	require.NoError(t, err)
	require.Equal(t, "signalled", condition.GetOutputs().GetLiterals()[0].GetValue().GetHash())
	_, err = data("gone")
	refused(t, err, connect.CodeNotFound, "inputs")

	s.blobs.objects["/data/told/child/1/outputs.pb"] = []byte{0xff}
	_, err = data("child")
	refused(t, err, connect.CodeDataLoss, "Outputs")
}

func TestGetActionLogContext(t *testing.T) {
	s := newTold(t)
	get := func(name string, attempt uint32) (*workflow.GetActionLogContextResponse, error) {
		return s.runs.GetActionLogContext(t.Context(), &workflow.GetActionLogContextRequest{ActionId: s.action(name), Attempt: attempt})
	}
	first, err := get("a0", 1)
	require.NoError(t, err)
	require.Equal(t, "told-0", first.GetLogContext().GetPrimaryPodName(), "the end of the attempt does not hide it")
	require.Equal(t, "here", first.GetCluster())
	require.Equal(t, 2*time.Second, first.GetEndTime().AsTime().Sub(first.GetStartTime().AsTime()))
	_, err = get("a0", 2)
	refused(t, err, connect.CodeNotFound, "no logs yet")
	_, err = get("a0", 3)
	refused(t, err, connect.CodeNotFound, "no attempt 3")
	_, err = get("a0", 0)
	refused(t, err, connect.CodeInvalidArgument, "attempt")
}
