package runs_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// say answers a condition of type string with a comment.
func (c *writeFixture) say(run, action, value, comment string) connect.Code {
	c.t.Helper()
	_, err := c.conditions.AnswerCondition(c.t.Context(), &insightv1.AnswerConditionRequest{
		ActionId: actionID(run, action), Comment: comment,
		Payload: &workflow.EventPayload{Value: &workflow.EventPayload_StringValue{StringValue: value}},
	})
	if err == nil {
		return 0
	}
	return connect.CodeOf(err)
}

func (c *writeFixture) listConditions(request *insightv1.ListConditionsRequest) *insightv1.ListConditionsResponse {
	c.t.Helper()
	response, err := c.conditions.ListConditions(c.t.Context(), request)
	require.NoError(c.t, err)
	return response
}

func TestAnAnswerKeepsItsComment(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	for _, name := range []string{"first", "second", "third"} {
		require.Zero(t, c.record(condition("r", name, core.SimpleType_STRING)))
	}
	c.child("r", "a0", "no-condition")
	began := time.Now().Add(-time.Second)
	const comment = "looks fine <b>to me</b>\nas discussed"
	require.Equal(t, connect.CodeInvalidArgument, c.say("r", "first", "yes", strings.Repeat("x", 2001)))
	require.Equal(t, connect.CodeNotFound, c.say("r", "none", "yes", comment))
	require.Equal(t, connect.CodeFailedPrecondition, c.say("r", "a0", "yes", comment))
	require.Zero(t, c.say("r", "first", "yes", " "+comment+"\n"))
	require.Zero(t, c.say("r", "first", "yes", comment), "a client may repeat a call whose answer it did not get")
	require.Equal(t, connect.CodeFailedPrecondition, c.say("r", "first", "yes", "other words"), "they would be lost")
	require.Equal(t, connect.CodeFailedPrecondition, c.say("r", "first", "no", comment))
	require.Zero(t, c.say("r", "second", "no", ""))

	found := c.listConditions(&insightv1.ListConditionsRequest{RunId: runID("r")}).GetConditions()
	require.Len(t, found, 3)
	require.Equal(t, "first", found[0].GetAction())
	require.Equal(t, comment, found[0].GetAnswer().GetComment())
	require.Equal(t, "yes", found[0].GetAnswer().GetValue().GetScalar().GetPrimitive().GetStringValue())
	require.Equal(t, "anonymous", found[0].GetAnswer().GetAnsweredBy().GetUser().GetId().GetSubject())
	require.WithinRange(t, found[0].GetAnswer().GetAnsweredAt().AsTime(), began, time.Now().Add(time.Second))
	require.Empty(t, found[1].GetAnswer().GetComment())
	require.Nil(t, found[2].GetAnswer(), "it waits")
	require.Equal(t, paused, found[2].GetPhase())

	info := c.details("r", "first").GetSignalInfo()
	require.Equal(t, "yes", info.GetOutput().GetScalar().GetPrimitive().GetStringValue())
	require.Empty(t, info.ProtoReflect().GetUnknown(), "clients of the contract get what it has")

	t.Run("pages", func(t *testing.T) {
		var all []string
		request := &insightv1.ListConditionsRequest{RunId: runID("r"), Limit: 2}
		for {
			response := c.listConditions(request)
			for _, one := range response.GetConditions() {
				all = append(all, one.GetAction())
			}
			if request.Token = response.GetToken(); request.GetToken() == "" {
				break
			}
		}
		require.Equal(t, []string{"first", "second", "third"}, all)
	})
	one := c.listConditions(&insightv1.ListConditionsRequest{RunId: runID("r"), Action: "second"}).GetConditions()
	require.Len(t, one, 1)
	_, err := c.conditions.ListConditions(t.Context(), &insightv1.ListConditionsRequest{RunId: runID("none")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

// TestAStoredSignalIsReadAsTheContractHasIt: rows that older versions wrote are read as StoredSignal, and other code reads what is stored
// now as SignalInfo.
func TestAStoredSignalIsReadAsTheContractHasIt(t *testing.T) {
	fields := (&enginev1.StoredSignal{}).ProtoReflect().Descriptor().Fields()
	contract := (&workflow.SignalInfo{}).ProtoReflect().Descriptor().Fields()
	for i := range contract.Len() {
		want := contract.Get(i)
		got := fields.ByNumber(want.Number())
		require.NotNil(t, got, "StoredSignal lacks %s of SignalInfo", want.Name())
		require.Equal(t, want.Message().FullName(), got.Message().FullName())
	}
	body, err := proto.Marshal(&enginev1.StoredSignal{Output: text("yes"), Comment: "fine"})
	require.NoError(t, err)
	var info workflow.SignalInfo
	require.NoError(t, proto.Unmarshal(body, &info))
	require.True(t, proto.Equal(text("yes"), info.GetOutput()))
}
