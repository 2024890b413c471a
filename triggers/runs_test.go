package triggers_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// DeployTrigger reviews notifications as CreateRun does.
func TestNotificationsOfATriggerAreReviewed(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1")
	template := func(url, body string) *task.InlineRule_DeliveryTemplate {
		return &task.InlineRule_DeliveryTemplate{DeliveryTemplate: &notification.DeliveryConfigTemplate{Webhook: &notification.WebhookDeliveryTemplate{
			Url: url, Method: notification.HttpMethod_HTTP_METHOD_POST, BodyTemplate: body,
		}}}
	}
	webhook := func(change func(*task.InlineRule)) *trigger.DeployTriggerRequest {
		rule := &task.InlineRule{
			OnPhases: []common.ActionPhase{common.ActionPhase_ACTION_PHASE_FAILED},
			Delivery: template("https://example.com", "{{.Phase}}"),
		}
		change(rule)
		return &trigger.DeployTriggerRequest{Name: name("t"), Spec: &trigger.TriggerSpec{
			TaskVersion: "v1", Active: true, RunSpec: &task.RunSpec{NotificationSettings: &task.RunSpec_NotificationRules{
				NotificationRules: &task.InlineRuleList{Rules: []*task.InlineRule{rule}},
			}},
		}}
	}
	const field = "spec.run_spec.notification_rules.rules[0].delivery_template.webhook"
	for text, change := range map[string]func(*task.InlineRule){
		field + ".body_template: unknown template variable .foo": func(r *task.InlineRule) { r.Delivery = template("https://example.com", "{{.foo}}") },
		field + ".headers": func(r *task.InlineRule) {
			r.GetDeliveryTemplate().GetWebhook().Headers = map[string]string{"X-A": "a\r\nX-Admin: yes"}
		},
		field + ".url": func(r *task.InlineRule) { r.Delivery = template("file:///etc/passwd", "") },
	} {
		_, err := f.api.DeployTrigger(t.Context(), webhook(change))
		refused(t, err, connect.CodeInvalidArgument, text)
		require.Empty(t, f.list(nil))
	}
	_, err := f.api.DeployTrigger(t.Context(), webhook(func(r *task.InlineRule) {
		r.Delivery = &task.InlineRule_DeliveryConfigName{DeliveryConfigName: "pager"}
	}))
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(f.explain("t").GetNotes()), `no delivery "pager"`)
}

// The run of a slot belongs to the user who deployed its revision, not to the server.
func TestRunsBelongToWhoDeployedTheTrigger(t *testing.T) {
	f := newFixture(t, nil)
	_, err := f.tasks.DeployTask(f.as("ada"), deploy("v1", triggered("minutely", onCron("* * * * *", "UTC"))))
	require.NoError(t, err)
	f.start(f.replica(nil))
	f.step(30 * time.Second)
	f.eventually("minutely", "01 12:01:00")
	_, err = f.tasks.DeployTask(f.as("bob"), deploy("v2", triggered("minutely", onCron("* * * * *", "UTC"))))
	require.NoError(t, err)
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00")
	_, slots := f.started("minutely")
	for i, want := range []string{"ada", "bob"} {
		metadata := f.details(slots[i].GetRunId().GetName()).GetMetadata()
		require.Equal(t, want, metadata.GetExecutedBy().GetUser().GetId().GetSubject())
		require.Equal(t, "* * * * *", metadata.GetTriggerType().GetSchedule().GetCron().GetExpression())
	}
	by := &common.ListRequest{Filters: []*common.Filter{{Function: common.Filter_EQUAL, Field: "created_by_subject", Values: []string{"ada"}}}}
	listed, err := f.runs.ListRuns(t.Context(), &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}}, Request: by,
	})
	require.NoError(t, err)
	require.Len(t, listed.GetRuns(), 1)

	// One that a program deployed is that program's.
	_, err = f.tasks.DeployTask(authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.Key, Subject: "key-1", Name: "nightly build"}),
		deploy("v3", triggered("minutely", onCron("* * * * *", "UTC"))))
	require.NoError(t, err)
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00", "01 12:03:00")
	_, slots = f.started("minutely")
	require.Equal(t, "nightly build", f.details(slots[2].GetRunId().GetName()).GetMetadata().GetExecutedBy().GetApplication().GetSpec().GetName())
	by.Filters[0].Values[0] = "key-1"
	listed, err = f.runs.ListRuns(t.Context(), &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}}, Request: by,
	})
	require.NoError(t, err)
	require.Len(t, listed.GetRuns(), 1)

	// By hand, it is the caller's.
	response, err := f.runs.CreateRun(f.as("eve"), &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}},
		Task: &workflow.CreateRunRequest_TriggerName{TriggerName: name("minutely")}, Source: workflow.RunSource_RUN_SOURCE_CLI,
	})
	require.NoError(t, err)
	metadata := response.GetRun().GetAction().GetMetadata()
	require.Equal(t, "eve", metadata.GetExecutedBy().GetUser().GetId().GetSubject())
	require.Equal(t, workflow.RunSource_RUN_SOURCE_CLI, metadata.GetSource())
	require.Equal(t, "* * * * *", metadata.GetTriggerType().GetSchedule().GetCron().GetExpression())
}
