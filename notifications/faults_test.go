package notifications_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/notifications"
)

// TestAnAnswerBeforeItsNotification: the process that sends notifications dies, and a condition is asked and answered before another
// takes over. The answer stays, and the notification is sent once, as it was promised.
func TestAnAnswerBeforeItsNotification(t *testing.T) {
	f := newFixture(t, nil)
	s := newSink(t, nil)
	require.NoError(t, f.service.Stop(context.WithoutCancel(t.Context())))
	f.create("waits", rules(webhook(s.URL, `{"action": "{{.Action.Name}}", "phase": "{{.Phase}}"}`, paused)))
	_, err := f.internal.RecordAction(t.Context(), &workflow.RecordActionRequest{
		ActionId: actionID("waits", "ask"), Parent: "a0",
		Spec: &workflow.RecordActionRequest_Condition{Condition: &workflow.ConditionAction{
			Name: "ask", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
		}},
	})
	require.NoError(t, err)
	answer := &workflow.SignalEventRequest{
		ActionId: actionID("waits", "ask"), Payload: &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
	}
	for range 2 {
		_, err = f.runs.SignalEvent(t.Context(), answer)
		require.NoError(t, err, "the same answer may be given again")
	}
	require.Equal(t, 1, f.outboxSize())
	require.Empty(t, s.received())
	f.begin()
	require.Equal(t, "ask", f.settle("waits", 1, delivered)[0].GetAction())
	require.Len(t, s.received(), 1)
	details, err := f.runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: actionID("waits", "ask")})
	require.NoError(t, err)
	require.Equal(t, succeeded, details.GetDetails().GetStatus().GetPhase())
}

// withoutDatabase cuts the connections to the database and allows no others, until back is called.
func (f *fixture) withoutDatabase() (back func()) {
	f.t.Helper()
	config := f.pool.Config().ConnConfig.Copy()
	name := pgx.Identifier{config.Database}.Sanitize()
	config.Database = "postgres"
	admin, err := pgx.ConnectConfig(f.t.Context(), config)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, admin.Close(context.WithoutCancel(f.t.Context()))) })
	do := func(sql string) {
		_, err := admin.Exec(context.WithoutCancel(f.t.Context()), sql)
		require.NoError(f.t, err)
	}
	do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false")
	do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + f.pool.Config().ConnConfig.Database + "'")
	back = sync.OnceFunc(func() { do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true") })
	f.t.Cleanup(back) // before the connection is closed
	return back
}

// TestATestSendWithoutADatabase: the database goes away while a test is being sent, and comes back after it has ended. A test stores
// nothing, so its caller learns how it went, and other notifications continue afterwards.
func TestATestSendWithoutADatabase(t *testing.T) {
	sending, goOn := make(chan struct{}), make(chan struct{})
	s := newSink(t, func(call int) int {
		if call == 1 {
			close(sending)
			<-goOn
		}
		return http.StatusOK
	})
	f := newFixture(t, func(c *notifications.Config) {
		c.Deliveries = []notifications.Delivery{{Name: "chat", Type: "webhook", URL: s.URL}}
		c.Rules = []notifications.Rule{{Name: "oncall", Phases: []string{"failed"}, Deliveries: []string{"chat"}, Everywhere: true}}
	})
	type outcome struct {
		response *insightv1.SendTestResponse
		err      error
	}
	ended := make(chan outcome, 1)
	go func() {
		response, err := f.client.SendTest(t.Context(), &insightv1.SendTestRequest{ProjectId: here, Rule: "oncall"})
		ended <- outcome{response, err}
	}()
	<-sending
	back := f.withoutDatabase()
	close(goOn)
	got := <-ended
	require.NoError(t, got.err)
	require.Len(t, got.response.GetResults(), 1)
	require.Empty(t, got.response.GetResults()[0].GetError())
	_, err := f.client.ListRules(t.Context(), &insightv1.ListRulesRequest{ProjectId: here})
	require.Equal(t, connect.CodeUnavailable, codeOf(err), "%v: the database is gone", err)
	back()
	require.Eventually(t, func() bool {
		_, err := f.runs.CreateRun(t.Context(), request("r", nil))
		return err == nil
	}, 20*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := f.client.ListRules(t.Context(), &insightv1.ListRulesRequest{ProjectId: here})
		return err == nil
	}, 20*time.Second, 50*time.Millisecond)
	f.end("r", failed, "boom")
	f.settle("r", 1, delivered)
	require.Len(t, s.received(), 2, "the test and the failure")
}
