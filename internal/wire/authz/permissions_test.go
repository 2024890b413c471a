package authz_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// roles are the permissions that a caller has in each project. A caller with one of them is a member.
type roles map[string][]string

func (r roles) Authorise(_ context.Context, _ authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	scope := authz.Scope{}
	for project, permissions := range r {
		for _, permission := range permissions {
			if permission == rule.Action {
				scope.Places = append(scope.Places, authz.Place{Project: project})
			}
		}
	}
	if rule.Members && len(r) == 0 {
		return authz.Scope{}, authz.Denied("not a member")
	}
	return scope, nil
}

// decided is the answer to a request of a caller with some roles.
func decided(t *testing.T, r roles, procedure string, request proto.Message) (authz.Scope, error) {
	t.Helper()
	row, ok := authz.RowOf(procedure)
	require.True(t, ok)
	decider := &authz.Decider{Authoriser: r}
	resources, err := decider.About(procedure, row, request)
	require.NoError(t, err)
	return decider.All(t.Context(), row.Rule(), resources)
}

// TestOtherResourcesTakeTheirOwnPermission starts runs of one project with tasks and triggers of another, in which the caller
// may not create runs.
func TestOtherResourcesTakeTheirOwnPermission(t *testing.T) {
	place := &common.ProjectIdentifier{Name: "mine", Domain: "d"}
	run := &common.RunIdentifier{Project: "mine", Domain: "d", Name: "r"}
	id := &task.TaskIdentifier{Project: "library", Domain: "d", Name: "t", Version: "1"}
	trigger := &common.TriggerName{Project: "library", Domain: "d", Name: "nightly", TaskName: "t"}
	for name, c := range map[string]struct {
		procedure   string
		request     proto.Message
		main, other string
	}{
		"a run of a task": {
			"/flyteidl2.workflow.RunService/CreateRun",
			&workflow.CreateRunRequest{Id: &workflow.CreateRunRequest_ProjectId{ProjectId: place}, Task: &workflow.CreateRunRequest_TaskId{TaskId: id}},
			"run.create", "task.view",
		},
		"a run of a trigger": {
			"/flyteidl2.workflow.RunService/CreateRun",
			&workflow.CreateRunRequest{Id: &workflow.CreateRunRequest_RunId{RunId: run}, Task: &workflow.CreateRunRequest_TriggerName{TriggerName: trigger}},
			"run.create", "trigger.view",
		},
		"a tracked run": {
			"/flyteidl2.workflow.TrackedRunService/CreateRun",
			&workflow.CreateTrackedRunRequest{
				Id: &workflow.CreateTrackedRunRequest_ProjectId{ProjectId: place}, Task: &workflow.CreateTrackedRunRequest_TaskId{TaskId: id},
			},
			"run.create", "task.view",
		},
		"inputs for a task": {
			"/flyteidl2.dataproxy.DataProxyService/UploadInputs",
			&dataproxy.UploadInputsRequest{Id: &dataproxy.UploadInputsRequest_ProjectId{ProjectId: place}, Task: &dataproxy.UploadInputsRequest_TaskId{TaskId: id}},
			"data.upload", "task.view",
		},
		"inputs for a trigger": {
			"/flyteidl2.dataproxy.DataProxyService/UploadInputs",
			&dataproxy.UploadInputsRequest{Id: &dataproxy.UploadInputsRequest_RunId{RunId: run}, Task: &dataproxy.UploadInputsRequest_TriggerName{TriggerName: trigger}},
			"data.upload", "trigger.view",
		},
	} {
		t.Run(name, func(t *testing.T) {
			scope, err := decided(t, roles{"mine": {c.main}, "library": {c.other}}, c.procedure, c.request)
			require.NoError(t, err)
			require.True(t, scope.Allows("mine", "d"), "the other resource does not narrow the scope of the call")
			_, err = decided(t, roles{"mine": {c.main}}, c.procedure, c.request)
			require.ErrorContains(t, err, c.other+" is not allowed on")
			_, err = decided(t, roles{"mine": {c.main}, "library": {c.main}}, c.procedure, c.request)
			require.ErrorContains(t, err, c.other+" is not allowed on")
			_, err = decided(t, roles{"library": {c.main, c.other}}, c.procedure, c.request)
			require.ErrorContains(t, err, c.main+" is not allowed on")
		})
	}
	_, err := decided(t, roles{"mine": {"run.create"}, "library": {"task.view"}}, "/flyteidl2.workflow.RunService/CreateRun",
		&workflow.CreateRunRequest{Task: &workflow.CreateRunRequest_TaskId{TaskId: id}})
	require.ErrorContains(t, err, "run.create is not allowed on place of every project")
}

// TestListsTakeAPermissionOnWhatTheyAreOf asks for the apps of a run. The answer has apps of every place that the caller may see.
func TestListsTakeAPermissionOnWhatTheyAreOf(t *testing.T) {
	request := &insightv1.ListAppsOfRunRequest{RunId: &common.RunIdentifier{Project: "mine", Domain: "d", Name: "r"}}
	const procedure = "/flytebinary.insight.v1.AppInsightService/ListAppsOfRun"
	scope, err := decided(t, roles{"mine": {"run.view"}, "theirs": {"app.view"}}, procedure, request)
	require.NoError(t, err)
	require.Equal(t, authz.Scope{Places: []authz.Place{{Project: "theirs"}}}, scope)
	_, err = decided(t, roles{"mine": {"app.view"}}, procedure, request)
	require.ErrorContains(t, err, "run.view is not allowed on run mine/d/r")
}

// TestAnyMemberMayCall asks for what belongs to the installation. A member needs no role for it; other callers are refused.
func TestAnyMemberMayCall(t *testing.T) {
	member := roles{"mine": {"run.view"}}
	for procedure, request := range map[string]proto.Message{
		"/flytebinary.insight.v1.InsightService/ListQueues": &insightv1.ListQueuesRequest{},
		"/flyteidl2.org.DomainService/ListDomains":          &org.ListDomainsRequest{},
		"/flyteidl2.org.DomainService/GetDomain":            &org.GetDomainRequest{Id: "development"},
		"/flyteidl2.cluster.ClusterService/SelectCluster": &cluster.SelectClusterRequest{
			Resource: &cluster.SelectClusterRequest_OrgId{OrgId: &common.OrgIdentifier{Name: "o"}},
		},
		"/flyteidl2.workflow.TranslatorService/TaskSpecToLaunchFormJson": &workflow.TaskSpecToLaunchFormJsonRequest{},
		"/flyteidl2.workflow.TranslatorService/LiteralsToLaunchFormJson": &workflow.LiteralsToLaunchFormJsonRequest{},
	} {
		_, err := decided(t, member, procedure, request)
		require.NoError(t, err, procedure)
		_, err = decided(t, roles{}, procedure, request)
		require.ErrorContains(t, err, "not a member", procedure)
	}
	for procedure, request := range map[string]proto.Message{
		"/flytebinary.insight.v1.SystemService/GetSystem":         &insightv1.GetSystemRequest{},
		"/flytebinary.insight.v1.InsightService/PreviewRetention": &insightv1.PreviewRetentionRequest{},
		"/flyteidl2.org.DomainService/CreateDomain":               &org.CreateDomainRequest{Id: "d"},
		"/flyteidl2.workflow.TranslatorService/LiteralsToLaunchFormJson": &workflow.LiteralsToLaunchFormJsonRequest{
			Owner: &workflow.LiteralsToLaunchFormJsonRequest_ActionId{
				ActionId: &common.ActionIdentifier{Run: &common.RunIdentifier{Project: "theirs", Domain: "d", Name: "r"}, Name: "a0"},
			},
		},
	} {
		_, err := decided(t, member, procedure, request)
		require.ErrorContains(t, err, "is not allowed on", procedure)
	}
}
