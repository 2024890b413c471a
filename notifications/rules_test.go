package notifications_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/notifications"
)

var here = &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}

// TestRulesSayWhereTheySendAndHowThatWent: before and after a run fires one, only those of the place, and without what is secret.
func TestRulesSayWhereTheySendAndHowThatWent(t *testing.T) {
	good, bad := newSink(t, nil), newSink(t, func(int) int { return http.StatusGone })
	f := newFixture(t, func(c *notifications.Config) {
		c.Deliveries = []notifications.Delivery{
			{Name: "chat", Type: "slack", URL: good.URL + "/a-secret"}, {Name: "pager", Type: "webhook", URL: bad.URL + "/a-secret"},
		}
		c.Rules = []notifications.Rule{
			{Name: "oncall", Phases: []string{"timed_out", "failed"}, Deliveries: []string{"chat", "pager"}, Everywhere: true},
			{Name: "elsewhere", Phases: []string{"failed"}, Deliveries: []string{"chat"}, Projects: []string{"flytesnacks/production"}},
			{Name: "asked", Phases: []string{"paused", "succeeded"}, Deliveries: []string{"chat"}, Projects: []string{"flytesnacks"}},
		}
	})
	list := func() []*insightv1.NotificationRule {
		response, err := f.client.ListRules(t.Context(), &insightv1.ListRulesRequest{ProjectId: here})
		require.NoError(t, err)
		require.NotContains(t, response.String(), "secret")
		return response.GetRules()
	}
	rules := list()
	require.Len(t, rules, 2, "the one of another domain is not listed")
	require.Equal(t, "oncall", rules[0].GetName())
	require.Equal(t, []common.ActionPhase{failed, common.ActionPhase_ACTION_PHASE_TIMED_OUT}, rules[0].GetPhases())
	require.True(t, rules[0].GetEverywhere())
	require.Equal(t, []common.ActionPhase{paused, succeeded}, rules[1].GetPhases())
	require.False(t, rules[1].GetEverywhere())
	require.Equal(t, "pager", rules[0].GetReceivers()[1].GetDeliveryConfigName())
	require.Equal(t, []string{strings.TrimPrefix(bad.URL, "http://")}, rules[0].GetReceivers()[1].GetTargets())
	require.Equal(t, insightv1.DeliveryKind_DELIVERY_KIND_WEBHOOK, rules[0].GetReceivers()[1].GetKind())
	require.Nil(t, rules[0].GetReceivers()[0].GetLast())

	f.create("r", nil)
	f.end("r", failed, "boom")
	require.Eventually(t, func() bool {
		last := list()[0].GetReceivers()
		return last[0].GetLast().GetState() == delivered && last[1].GetLast().GetState() == dead
	}, 20*time.Second, 10*time.Millisecond)
	pager := list()[0].GetReceivers()[1].GetLast()
	require.Contains(t, pager.GetLastError(), "410")
	require.Equal(t, "r", pager.GetRunId().GetName())
	require.NotNil(t, pager.GetEndedAt())
	require.Nil(t, list()[1].GetReceivers()[0].GetLast(), "another rule used the same delivery")

	f.create("again", nil)
	f.end("again", failed, "boom")
	require.Eventually(t, func() bool { return list()[0].GetReceivers()[0].GetLast().GetRunId().GetName() == "again" }, 20*time.Second, 10*time.Millisecond, "the latest")
	for _, wrong := range []*common.ProjectIdentifier{{Name: "flytesnacks"}, {Domain: "development"}} {
		_, err := f.client.ListRules(t.Context(), &insightv1.ListRulesRequest{ProjectId: wrong})
		require.Equal(t, connect.CodeInvalidArgument, codeOf(err))
	}
}

// TestATestReachesTheReceivers: by the same senders, marked, once, with the result of each; and leaves no delivery behind.
func TestATestReachesTheReceivers(t *testing.T) {
	good, bad := newSink(t, nil), newSink(t, func(int) int { return http.StatusInternalServerError })
	f := newFixture(t, func(c *notifications.Config) {
		c.Deliveries = []notifications.Delivery{
			{Name: "chat", Type: "slack", URL: good.URL + "/hook"}, {Name: "pager", Type: "webhook", URL: bad.URL, Body: `{"why": "{{.Error}}"}`},
			{Name: "forbidden", Type: "webhook", URL: "http://169.254.169.254/latest"},
		}
		c.Rules = []notifications.Rule{
			{Name: "oncall", Phases: []string{"failed"}, Deliveries: []string{"chat", "pager", "forbidden"}},
			{Name: "elsewhere", Phases: []string{"failed"}, Deliveries: []string{"chat"}, Projects: []string{"other"}},
			{Name: "approvals", Phases: []string{"paused"}, Deliveries: []string{"chat"}},
		}
	})
	send := func(rule string) (*insightv1.SendTestResponse, error) {
		return f.client.SendTest(t.Context(), &insightv1.SendTestRequest{ProjectId: here, Rule: rule})
	}
	response, err := send("oncall")
	require.NoError(t, err)
	results := response.GetResults()
	require.Len(t, results, 3)
	require.Equal(t, "chat", results[0].GetDeliveryConfigName())
	require.Empty(t, results[0].GetError())
	require.Contains(t, results[1].GetError(), "500")
	require.NotContains(t, results[1].GetError(), "secret of the service")
	require.Contains(t, results[2].GetError(), "169.254.169.254")
	require.Len(t, good.received(), 1)
	call := good.received()[0]
	require.Equal(t, "/hook", call.path)
	require.Contains(t, call.body, "This is a test of the notification rule oncall")
	require.Contains(t, call.body, "FAILED")
	require.NotEmpty(t, call.header.Get("Idempotency-Key"))
	require.Len(t, bad.received(), 1, "a test is tried once")
	require.Contains(t, bad.received()[0].body, "This is a test")

	_, err = send("approvals")
	require.NoError(t, err)
	require.Contains(t, good.received()[1].body, "This is a test of the notification rule approvals")
	for _, wrong := range []string{"elsewhere", "nothing"} {
		_, err = send(wrong)
		require.Equal(t, connect.CodeNotFound, codeOf(err), wrong)
	}
	require.Len(t, good.received(), 2)
	all, err := f.client.ListDeliveries(t.Context(), &insightv1.ListDeliveriesRequest{})
	require.NoError(t, err)
	require.Empty(t, all.GetDeliveries())
}
