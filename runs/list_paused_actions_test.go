package runs_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func (c *writeFixture) paused(request *insightv1.ListPausedActionsRequest) (names []string, response *insightv1.ListPausedActionsResponse) {
	c.t.Helper()
	response, err := c.insight.ListPausedActions(c.t.Context(), request)
	require.NoError(c.t, err)
	for _, action := range response.GetActions() {
		names = append(names, action.GetActionId().GetRun().GetName()+"/"+action.GetActionId().GetName())
	}
	return names, response
}

func TestListPausedActions(t *testing.T) {
	c := newWriteFixture(t, nil)
	names, response := c.paused(&insightv1.ListPausedActionsRequest{})
	require.Empty(t, names)
	require.Empty(t, response.GetToken())

	began := time.Now().Add(-time.Second)
	for run := range 3 {
		name := fmt.Sprintf("run%d", run)
		request := namedRun(name)
		if run == 2 {
			request.GetRunId().Domain = "staging"
			c.create(request)
			asked := condition(name, "approve", core.SimpleType_BOOLEAN)
			asked.ActionId.Run.Domain = "staging"
			require.Zero(t, c.record(asked))
			continue
		}
		c.create(request)
		c.child(name, "a0", "no-condition")
		require.Zero(t, c.record(condition(name, "first", core.SimpleType_BOOLEAN)))
		require.Zero(t, c.record(recordCondition(name, "second", &workflow.ConditionAction{
			Name: "second", Prompt: "May I?", Timeout: durationpb.New(time.Hour),
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}},
		})))
	}
	names, response = c.paused(&insightv1.ListPausedActionsRequest{})
	require.Equal(t, []string{"run0/first", "run0/second", "run1/first", "run1/second", "run2/approve"}, names)
	require.EqualValues(t, 5, response.GetTotal())
	first, second := response.GetActions()[0], response.GetActions()[1]
	require.Equal(t, "a0", first.GetParent())
	require.Equal(t, core.SimpleType_BOOLEAN, first.GetCondition().GetType().GetSimple())
	require.WithinRange(t, first.GetSince().AsTime(), began, time.Now().Add(time.Second))
	require.Nil(t, first.GetUntil())
	require.Equal(t, "May I?", second.GetCondition().GetPrompt())
	require.WithinDuration(t, second.GetSince().AsTime().Add(time.Hour), second.GetUntil().AsTime(), time.Second)

	t.Run("pages", func(t *testing.T) {
		var all []string
		request := &insightv1.ListPausedActionsRequest{Limit: 2, Project: "flytesnacks", Domain: "development"}
		for {
			names, response := c.paused(request)
			require.EqualValues(t, 4, response.GetTotal(), "of every page")
			all = append(all, names...)
			if response.GetToken() == "" {
				break
			}
			request.Token = response.GetToken()
		}
		require.Equal(t, []string{"run0/first", "run0/second", "run1/first", "run1/second"}, all)
	})
	t.Run("scopes", func(t *testing.T) {
		names, response := c.paused(&insightv1.ListPausedActionsRequest{Domain: "staging"})
		require.Equal(t, []string{"run2/approve"}, names)
		require.EqualValues(t, 1, response.GetTotal())
		names, _ = c.paused(&insightv1.ListPausedActionsRequest{Project: "none"})
		require.Empty(t, names)
	})
	t.Run("bad input", func(t *testing.T) {
		_, err := c.insight.ListPausedActions(t.Context(), &insightv1.ListPausedActionsRequest{Limit: 1001})
		refused(t, err, connect.CodeInvalidArgument, "limit")
		_, err = c.insight.ListPausedActions(t.Context(), &insightv1.ListPausedActionsRequest{Token: "nonsense"})
		refused(t, err, connect.CodeInvalidArgument, "token")
		_, page := c.paused(&insightv1.ListPausedActionsRequest{Limit: 1})
		_, err = c.insight.ListPausedActions(t.Context(), &insightv1.ListPausedActionsRequest{Domain: "staging", Token: page.GetToken()})
		refused(t, err, connect.CodeInvalidArgument, "token")
	})

	// Answered and aborted conditions no longer wait.
	_, err := c.runs.SignalEvent(t.Context(), &workflow.SignalEventRequest{
		ActionId: actionID("run0", "first"), Payload: &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
	})
	require.NoError(t, err)
	_, err = c.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("run1")})
	require.NoError(t, err)
	names, response = c.paused(&insightv1.ListPausedActionsRequest{})
	require.Equal(t, []string{"run0/second", "run2/approve"}, names)
	require.EqualValues(t, 2, response.GetTotal())
	require.Equal(t, common.ActionPhase_ACTION_PHASE_PAUSED, c.phase("run0", "second"))
}
