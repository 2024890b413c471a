package manager_test

import (
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestAConditionIsAssigned: to a person who may answer it, by one who may; others see it, and may answer it too.
func TestAConditionIsAssigned(t *testing.T) {
	var storage string
	server := startSignIn(t, func(c *configuration.Config) {
		storage = c.Storage.URL
		c.Access.Bindings = []access.BindingConfig{
			{Group: "navy", Role: "runner", Project: "ships", Domain: "development"},
			{User: "ada", Role: "runner", Project: "ships"}, {User: "vera", Role: "viewer", Project: "ships"}, {User: "paul", Role: "runner", Project: "tanks"},
		}
		for _, name := range []string{"ada", "vera", "paul"} {
			c.Access.Local.Accounts = append(c.Access.Local.Accounts, access.AccountConfig{Name: name, Password: password, Email: name + "@example.com"})
		}
	})
	client := func(name string) connect.HTTPClient {
		who := server.browser(t)
		who.signIn(name)
		return who.http
	}
	admin, ada, vera, grace, paul := client("admin"), client("ada"), client("vera"), client("grace"), client("paul")
	_, err := projectconnect.NewProjectServiceClient(admin, server.url).CreateProject(t.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: "ships", Name: "ships"}})
	require.NoError(t, err)
	run := &common.RunIdentifier{Org: "o", Project: "ships", Domain: "development", Name: "cruise"}
	_, err = workflowconnect.NewRunServiceClient(ada, server.url).CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Type: "python", Id: &core.Identifier{ResourceType: core.ResourceType_TASK, Project: "ships", Domain: "development", Name: "t", Version: "1"},
			Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
		}}},
	})
	require.NoError(t, err)
	asked := &common.ActionIdentifier{Run: run, Name: "ask"}
	enqueue := func(name string) {
		base := storage + "/ships/development/cruise/"
		_, err := actionsconnect.NewActionsServiceClient(ada, server.url).Enqueue(t.Context(), &actions.EnqueueRequest{Action: &actions.Action{
			ActionId: &common.ActionIdentifier{Run: run, Name: name}, ParentActionName: new("a0"), InputUri: base + name + "/inputs.pb", RunOutputBase: base,
			Spec: &actions.Action_Condition{Condition: &workflow.ConditionAction{
				Name: name, Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
			}},
		}})
		require.NoError(t, err)
	}
	enqueue("ask")
	enqueue("other")

	holders := func(who connect.HTTPClient, subject string) (names []string, code connect.Code) {
		answer, err := accessv1connect.NewAccessServiceClient(who, server.url).ListHolders(t.Context(), &accessv1.ListHoldersRequest{
			Permission: "action.signal", Subject: subject, Scope: &accessv1.Scope{Project: "ships", Domain: "development"},
		})
		for _, one := range answer.GetHolders() {
			names = append(names, one.GetSubject()+" "+one.GetName()+" "+one.GetEmail())
		}
		if err != nil {
			code = connect.CodeOf(err)
		}
		return names, code
	}
	found, _ := holders(vera, "")
	require.Equal(t, []string{"admin Administrator ", "grace Grace Hopper grace@example.com", "ada ada ada@example.com"}, found, "by a group, too; by name")
	found, _ = holders(vera, "paul")
	require.Empty(t, found, "he may answer in another project")
	_, code := holders(paul, "")
	require.Equal(t, connect.CodeNotFound, code, "he does not see the project")

	assign := func(who connect.HTTPClient, action, subject string) connect.Code {
		_, err := insightv1connect.NewConditionServiceClient(who, server.url).AssignCondition(t.Context(), &insightv1.AssignConditionRequest{
			ActionId: &common.ActionIdentifier{Run: run, Name: action}, Subject: subject,
		})
		if err == nil {
			return 0
		}
		return connect.CodeOf(err)
	}
	mine := func(who connect.HTTPClient) (names []string) {
		answer, err := insightv1connect.NewInsightServiceClient(who, server.url).ListPausedActions(t.Context(), &insightv1.ListPausedActionsRequest{Mine: true})
		require.NoError(t, err)
		require.EqualValues(t, len(answer.GetActions()), answer.GetTotal())
		for _, one := range answer.GetActions() {
			names = append(names, one.GetActionId().GetName()+" "+one.GetAssignee().GetName()+" by "+one.GetAssignee().GetAssignedBy())
		}
		return names
	}
	require.Equal(t, connect.CodePermissionDenied, assign(vera, "ask", "ada"), "who may not answer may not ask")
	require.Equal(t, connect.CodeInvalidArgument, assign(ada, "ask", "vera"), "who may not answer is not asked")
	require.Equal(t, connect.CodeInvalidArgument, assign(ada, "ask", "paul"))
	require.Equal(t, connect.CodeInvalidArgument, assign(ada, "ask", "no one of this name"))
	require.Equal(t, connect.CodeFailedPrecondition, assign(ada, "a0", "ada"), "it is no condition")
	require.Equal(t, connect.CodeNotFound, assign(ada, "none", "ada"))
	require.Zero(t, assign(ada, "ask", "grace"))
	require.Equal(t, []string{"ask Grace Hopper by ada"}, mine(grace))
	require.Empty(t, mine(ada))
	require.Zero(t, assign(grace, "ask", "ada"), "passed on")
	require.Empty(t, mine(grace))
	require.Equal(t, []string{"ask ada by grace"}, mine(ada))
	require.Zero(t, assign(grace, "other", "grace"), "to herself")

	waits, err := insightv1connect.NewInsightServiceClient(vera, server.url).ListWaits(t.Context(), &insightv1.ListWaitsRequest{})
	require.NoError(t, err)
	var names []string
	for _, one := range waits.GetRuns() {
		for _, wait := range one.GetWaits() {
			if wait.GetActionId().GetName() == "ask" {
				names = append(names, wait.GetAssignee().GetName())
			}
		}
	}
	require.Equal(t, []string{"ada"}, names)

	require.Zero(t, assign(ada, "ask", ""), "no one in particular")
	require.Empty(t, mine(ada))
	require.Zero(t, assign(ada, "ask", "ada"))
	_, err = insightv1connect.NewConditionServiceClient(grace, server.url).AnswerCondition(t.Context(), &insightv1.AnswerConditionRequest{
		ActionId: asked, Comment: "ada is at sea", Payload: &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
	})
	require.NoError(t, err, "others may answer, too")
	require.Empty(t, mine(ada))
	require.Equal(t, connect.CodeFailedPrecondition, assign(ada, "ask", "grace"), "it is answered")
	list, err := insightv1connect.NewConditionServiceClient(vera, server.url).ListConditions(t.Context(), &insightv1.ListConditionsRequest{RunId: run, Action: "ask"})
	require.NoError(t, err)
	require.Equal(t, "grace", list.GetConditions()[0].GetAnswer().GetAnsweredBy().GetUser().GetId().GetSubject())
	require.Equal(t, "ada", list.GetConditions()[0].GetAssignee().GetSubject())

	// The record names who did what to which action.
	recorded := func() (found []string) {
		answer, err := accessv1connect.NewAuditServiceClient(admin, server.url).SearchAudit(t.Context(), &accessv1.SearchAuditRequest{Permission: "action.signal"})
		require.NoError(t, err)
		for _, event := range answer.GetEvents() {
			found = append(found, event.GetSubject()+" "+event.GetProcedure()+" "+event.GetOutcome())
		}
		return found
	}
	for _, record := range []string{
		"grace /flytebinary.insight.v1.ConditionService/AnswerCondition succeeded",
		"ada /flytebinary.insight.v1.ConditionService/AssignCondition succeeded",
		"vera /flytebinary.insight.v1.ConditionService/AssignCondition refused",
	} {
		require.Eventually(t, func() bool { return slices.Contains(recorded(), record) }, 10*time.Second, 20*time.Millisecond, record)
	}
}
