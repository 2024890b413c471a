package triggers_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

func (f *fixture) list(request *common.ListRequest) []string {
	f.t.Helper()
	response, err := f.api.ListTriggers(f.t.Context(), &trigger.ListTriggersRequest{
		Request: request, ScopeBy: &trigger.ListTriggersRequest_TaskName{TaskName: &task.TaskName{Project: projectID, Domain: domainID, Name: taskName}},
	})
	require.NoError(f.t, err)
	var names []string
	for _, t := range response.GetTriggers() {
		names = append(names, t.GetId().GetName().GetName())
	}
	return names
}

var byNameOrder = &common.ListRequest{SortByFields: []*common.Sort{{Key: "name", Direction: common.Sort_ASCENDING}}}

func TestTriggersComeAndGoWithTheirTask(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("hourly", onCron("0 * * * *", "Europe/Berlin")), triggered("manual", byHand()))
	require.Equal(t, []string{"hourly", "manual"}, f.list(byNameOrder))
	got := f.get("hourly")
	require.True(t, got.GetSpec().GetActive())
	require.Equal(t, "v1", got.GetSpec().GetTaskVersion())
	require.Equal(t, "of a test", got.GetDescription())
	require.Equal(t, uint64(1), got.GetId().GetRevision())

	f.deploy("v1", triggered("hourly", onCron("0 * * * *", "Europe/Berlin")), triggered("manual", byHand()))
	require.Equal(t, uint64(1), f.get("hourly").GetId().GetRevision(), "the same content again makes no revision")

	_, err := f.api.DeployTrigger(t.Context(), &trigger.DeployTriggerRequest{Name: name("mine"), Spec: &trigger.TriggerSpec{TaskVersion: "v1", Active: true}})
	require.NoError(t, err)
	f.deploy("v2", triggered("hourly", onCron("0 * * * *", "Europe/Berlin")))
	require.Equal(t, []string{"hourly", "mine"}, f.list(byNameOrder), "what was not deployed with the task stays")
	require.Equal(t, "v2", f.get("hourly").GetSpec().GetTaskVersion())
	f.deploy("v3")
	require.Equal(t, []string{"mine"}, f.list(byNameOrder))

	_, err = f.api.GetTriggerDetails(t.Context(), &trigger.GetTriggerDetailsRequest{Name: name("hourly")})
	refused(t, err, connect.CodeNotFound, "hourly")
	history, err := f.api.GetTriggerRevisionHistory(t.Context(), &trigger.GetTriggerRevisionHistoryRequest{Name: name("hourly")})
	require.NoError(t, err)
	var actions []trigger.TriggerRevisionAction
	for _, revision := range history.GetTriggers() {
		actions = append(actions, revision.GetAction())
	}
	require.Equal(t, []trigger.TriggerRevisionAction{
		trigger.TriggerRevisionAction_TRIGGER_REVISION_ACTION_DELETE, trigger.TriggerRevisionAction_TRIGGER_REVISION_ACTION_DEPLOY,
		trigger.TriggerRevisionAction_TRIGGER_REVISION_ACTION_DEPLOY,
	}, actions)
	old, err := f.api.GetTriggerRevisionDetails(t.Context(), &trigger.GetTriggerRevisionDetailsRequest{Id: &common.TriggerIdentifier{Name: name("hourly"), Revision: 1}})
	require.NoError(t, err)
	require.Equal(t, "v1", old.GetTrigger().GetSpec().GetTaskVersion())
	require.True(t, old.GetTrigger().GetSpec().GetActive())

	f.deploy("v3", triggered("hourly", byHand()))
	require.Equal(t, uint64(4), f.get("hourly").GetId().GetRevision(), "the history goes on")
}

// Trap: clients take already_exists for success and believe the triggers deployed.
func TestTriggersOfAVersionThatExists(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1")
	other := deploy("v1", triggered("late", byHand()))
	other.GetSpec().ShortName = "other"
	_, err := f.tasks.DeployTask(t.Context(), other)
	refused(t, err, connect.CodeAlreadyExists, "v1")
	require.Equal(t, []string{"late"}, f.list(nil))
}

func TestTasksShowTheirTriggers(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("only", onCron("0 * * * *", "UTC")))
	tasks := func() *task.TaskTriggersSummary {
		response, err := f.tasks.ListTasks(t.Context(), &task.ListTasksRequest{
			ScopeBy: &task.ListTasksRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}},
		})
		require.NoError(t, err)
		return response.GetTasks()[0].GetMetadata().GetTriggersSummary()
	}
	require.Equal(t, "only", tasks().GetDetails().GetName())
	require.True(t, tasks().GetDetails().GetActive())
	f.deploy("v1", triggered("only", onCron("0 * * * *", "UTC")), triggered("second", byHand()))
	require.NoError(t, f.switchTo(false, "second"))
	require.Equal(t, uint32(2), tasks().GetStats().GetTotal())
	require.Equal(t, uint32(1), tasks().GetStats().GetActive())
	f.deploy("v1")
	require.Nil(t, tasks())
}

func TestAUsersSwitchSurvivesADeployment(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("hourly", onCron("0 * * * *", "UTC")))
	require.NoError(t, f.switchTo(false, "hourly"))
	require.NoError(t, f.switchTo(false, "hourly"), "twice")
	require.Equal(t, uint64(2), f.get("hourly").GetId().GetRevision())
	f.deploy("v2", triggered("hourly", onCron("30 * * * *", "UTC")))
	require.False(t, f.get("hourly").GetSpec().GetActive())
	explained := f.explain("hourly")
	require.True(t, explained.GetPaused())
	require.Contains(t, explained.GetReason(), "disabled it")
	require.Empty(t, explained.GetNext())
	require.NoError(t, f.switchTo(true, "hourly"))
	require.Equal(t, "2026-06-01T12:30:00Z", f.explain("hourly").GetNext()[0].AsTime().Format(time.RFC3339))

	off := triggered("hourly", onCron("30 * * * *", "UTC"))
	off.Spec.Active = false
	f.deploy("v3", off)
	require.True(t, f.get("hourly").GetSpec().GetActive(), "what a user switched on stays on")
}

func TestSeveralTriggersChangeTogether(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("a", byHand()), triggered("b", byHand()))
	refused(t, f.switchTo(false, "a", "none"), connect.CodeNotFound, "none")
	require.True(t, f.get("a").GetSpec().GetActive())
	require.NoError(t, f.switchTo(false, "a", "b", "a"))
	require.False(t, f.get("b").GetSpec().GetActive())
	_, err := f.api.DeleteTriggers(t.Context(), &trigger.DeleteTriggersRequest{Names: []*common.TriggerName{name("a"), name("none")}})
	refused(t, err, connect.CodeNotFound, "none")
	_, err = f.api.DeleteTriggers(t.Context(), &trigger.DeleteTriggersRequest{Names: []*common.TriggerName{name("a"), name("b")}})
	require.NoError(t, err)
	require.Empty(t, f.list(nil))
}

func TestRevisionsGuardAgainstConcurrentDeployments(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1")
	request := &trigger.DeployTriggerRequest{Name: name("m"), Revision: 1, Spec: &trigger.TriggerSpec{TaskVersion: "v1"}}
	_, err := f.api.DeployTrigger(t.Context(), request)
	refused(t, err, connect.CodeAborted, "revision 1")
	request.Revision = 0
	_, err = f.api.DeployTrigger(t.Context(), request)
	require.NoError(t, err)
	request.Revision, request.Spec.Description = 1, "new"
	response, err := f.api.DeployTrigger(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, uint64(2), response.GetTrigger().GetId().GetRevision())
	_, err = f.api.DeployTrigger(t.Context(), request)
	refused(t, err, connect.CodeAborted, "revision 1")
}

func TestPagesOfTriggers(t *testing.T) {
	f := newFixture(t, nil)
	var all []*task.TaskTrigger
	for i := range 7 {
		all = append(all, triggered(fmt.Sprintf("t%d", i), byHand()))
	}
	all[3].AutomationSpec = onCron("0 * * * *", "UTC")
	f.deploy("v1", all...)
	require.NoError(t, f.switchTo(false, "t5"))
	token, seen := "", []string{}
	for {
		response, err := f.api.ListTriggers(t.Context(), &trigger.ListTriggersRequest{
			Request: &common.ListRequest{Limit: 3, Token: token},
			ScopeBy: &trigger.ListTriggersRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}},
		})
		require.NoError(t, err)
		for _, t := range response.GetTriggers() {
			seen = append(seen, t.GetId().GetName().GetName())
		}
		if token = response.GetToken(); token == "" {
			break
		}
	}
	require.Len(t, seen, 7)
	require.Equal(t, "t5", seen[6], "inactive ones come last")
	filter := &common.ListRequest{Filters: []*common.Filter{{Function: common.Filter_EQUAL, Field: "automation_type", Values: []string{"TYPE_SCHEDULE"}}}}
	require.Equal(t, []string{"t3"}, f.list(filter))
}

func TestInvalidTriggersStoreNothing(t *testing.T) {
	zero := &task.Schedule{Expression: &task.Schedule_Rate{Rate: &task.FixedRate{Value: 0, Unit: task.FixedRateUnit_FIXED_RATE_UNIT_DAY}}}
	strange := &task.Schedule{Expression: &task.Schedule_Rate{Rate: &task.FixedRate{
		Value: 1, Unit: task.FixedRateUnit_FIXED_RATE_UNIT_DAY, StartTime: &timestamppb.Timestamp{Seconds: 1 << 60},
	}}}
	kickoff := func(input string) *task.TriggerAutomationSpec {
		spec := onCron("0 * * * *", "UTC")
		spec.GetSchedule().KickoffTimeInputArg = input
		return spec
	}
	for label, tc := range map[string]struct {
		trigger *task.TaskTrigger
		change  func(*task.TaskTrigger)
		code    connect.Code
		text    string
	}{
		"never":        {triggered("t", onCron("0 0 30 2 *", "")), nil, connect.CodeInvalidArgument, "triggers[1].automation_spec.schedule.cron.expression: never fires"},
		"zone":         {triggered("t", onCron("0 0 * * *", "Mars/Olympus")), nil, connect.CodeInvalidArgument, "triggers[1].automation_spec.schedule.cron.timezone"},
		"zero":         {triggered("t", scheduled(zero)), nil, connect.CodeInvalidArgument, "rate.value"},
		"start":        {triggered("t", scheduled(strange)), nil, connect.CodeInvalidArgument, "rate.start_time"},
		"kick-off":     {triggered("t", kickoff("nope")), nil, connect.CodeInvalidArgument, `has no input "nope"`},
		"kick-off int": {triggered("t", kickoff("x")), nil, connect.CodeInvalidArgument, "not a datetime"},
		"twice":        {triggered("good", byHand()), nil, connect.CodeInvalidArgument, "another trigger"},
		"catch-up":     {triggered("t", byHand(), "flyte.org/trigger-catch-up", "some"), nil, connect.CodeInvalidArgument, "none, latest or all"},
		"jitter":       {triggered("t", byHand(), "flyte.org/trigger-jitter", "1d"), nil, connect.CodeInvalidArgument, "a duration"},
		"limit":        {triggered("t", byHand(), "flyte.org/trigger-catch-up-limit", "0"), nil, connect.CodeInvalidArgument, "from 1 to"},
		"parallel":     {triggered("t", byHand(), "flyte.org/trigger-concurrency", "2"), nil, connect.CodeInvalidArgument, "allow, skip or replace"},
		"no option":    {triggered("t", byHand(), "flyte.org/trigger-catchup", "all"), nil, connect.CodeInvalidArgument, "not a trigger option"},
		"unknown input": {triggered("t", byHand()), func(tr *task.TaskTrigger) {
			tr.Spec.GetInputs().Literals[0].Name = "y"
		}, connect.CodeInvalidArgument, `has no input "y"`},
		"missing input": {triggered("t", onCron("0 * * * *", "UTC")), func(tr *task.TaskTrigger) {
			tr.Spec.GetInputs().Literals = nil
		}, connect.CodeInvalidArgument, `input "x"`},
		"concurrency of actions": {triggered("t", byHand()), func(tr *task.TaskTrigger) {
			tr.Spec.RunSpec.MaxActionConcurrency = 1
		}, connect.CodeInvalidArgument, "max_action_concurrency"},
		"foreign inputs": {triggered("t", byHand()), func(tr *task.TaskTrigger) {
			tr.Spec.InputWrapper = &task.TaskTriggerSpec_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: "/etc/inputs.pb", InputsHash: "x"}}
		}, connect.CodeInvalidArgument, "offloaded_input_data.uri"},
		"context": {triggered("t", byHand()), func(tr *task.TaskTrigger) {
			tr.Spec.GetInputs().Context = []*core.KeyValuePair{{Key: "_u_kickoff_time_input_arg", Value: "z"}}
		}, connect.CodeInvalidArgument, `has no input "z"`},
	} {
		t.Run(label, func(t *testing.T) {
			f := newFixture(t, nil)
			broken := proto.CloneOf(tc.trigger)
			if tc.change != nil {
				tc.change(broken)
			}
			_, err := f.tasks.DeployTask(t.Context(), deploy("v1", triggered("good", byHand()), broken))
			refused(t, err, tc.code, tc.text)
			require.Empty(t, f.list(nil))
			_, err = f.tasks.GetTaskDetails(t.Context(), &task.GetTaskDetailsRequest{TaskId: deploy("v1").GetTaskId()})
			refused(t, err, connect.CodeNotFound, "v1")
		})
	}
}

func TestTriggersOfTasksThatDoNotExist(t *testing.T) {
	f := newFixture(t, nil)
	_, err := f.api.DeployTrigger(t.Context(), &trigger.DeployTriggerRequest{Name: name("m"), Spec: &trigger.TriggerSpec{TaskVersion: "v1"}})
	refused(t, err, connect.CodeNotFound, taskName)
}

func TestListsAreNarrowedToTheScopeOfTheCall(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("here", byHand()))
	rows := store.New(f.pool, f.clock)
	for scope, want := range map[*authz.Scope]int{
		{All: true}: 1, {}: 0, {Places: []authz.Place{{Project: projectID}}}: 1, {Places: []authz.Place{{Project: projectID, Domain: domainID}, {Project: "x"}}}: 1,
		{Places: []authz.Place{{Project: projectID, Domain: "staging"}}}: 0,
	} {
		found, _, err := rows.List(authz.WithScope(t.Context(), *scope), store.Scope{}, nil)
		require.NoError(t, err)
		require.Len(t, found, want, "%+v", *scope)
	}
}
