package runs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs"
)

// builtinTask records a child of a built-in task type, with its inputs stored.
func (c *writeFixture) builtinTask(run, name, taskType string, change func(*core.TaskTemplate), inputs ...*task.NamedLiteral) {
	c.t.Helper()
	request := childTask(run, "a0", name)
	uri := c.blobs.Root() + "/flytesnacks/development/in/" + run + "/" + name + "/inputs.pb"
	body, err := proto.Marshal(&task.Inputs{Literals: inputs})
	require.NoError(c.t, err)
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), uri, body))
	request.InputUri = uri
	template := request.GetTask().GetSpec().GetTaskTemplate()
	template.Type = taskType
	if change != nil {
		change(template)
	}
	require.Zero(c.t, c.record(request))
}

func primitive(name string, p *core.Primitive) *task.NamedLiteral {
	return &task.NamedLiteral{Name: name, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
		Value: &core.Scalar_Primitive{Primitive: p},
	}}}}
}

func lasting(d time.Duration) *task.NamedLiteral {
	return primitive("duration", &core.Primitive{Value: &core.Primitive_Duration{Duration: durationpb.New(d)}})
}

func (c *writeFixture) await(run, action string, phase common.ActionPhase) *workflow.ActionDetails {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return c.phase(run, action) == phase }, 20*time.Second, 10*time.Millisecond)
	return c.details(run, action)
}

const (
	phaseSucceeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	phaseFailed    = common.ActionPhase_ACTION_PHASE_FAILED
	phaseTimedOut  = common.ActionPhase_ACTION_PHASE_TIMED_OUT
	phaseRunning   = common.ActionPhase_ACTION_PHASE_RUNNING
)

func TestSleepsNeedNoExecutor(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("sleepy"))
	c.builtinTask("sleepy", "long", "core-sleep", nil, lasting(300*time.Millisecond))
	c.builtinTask("sleepy", "none", "core-sleep", nil, lasting(0))
	c.builtinTask("sleepy", "whole", "core-sleep", nil, primitive("s", &core.Primitive{Value: &core.Primitive_Integer{Integer: 0}}))
	c.await("sleepy", "none", phaseSucceeded)
	c.await("sleepy", "whole", phaseSucceeded)
	details := c.await("sleepy", "long", phaseSucceeded)
	attempt := details.GetAttempts()[0]
	var phases []string
	for _, step := range attempt.GetPhaseTransitions() {
		phases = append(phases, step.GetPhase().String())
	}
	require.Equal(t, []string{"ACTION_PHASE_QUEUED", "ACTION_PHASE_RUNNING", "ACTION_PHASE_SUCCEEDED"}, phases)
	running := attempt.GetPhaseTransitions()[1]
	require.Equal(t, 300*time.Millisecond, running.GetEndTime().AsTime().Sub(running.GetStartTime().AsTime()), "exactly as long as it was asked")
}

func TestSleepIsKeptOverARestart(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("restart"))
	c.builtinTask("restart", "s", "core-sleep", nil, lasting(1500*time.Millisecond))
	c.await("restart", "s", phaseRunning)
	require.NoError(t, c.service.Stop(context.WithoutCancel(t.Context())))
	again := writeFixtureOn(t, c.pool, nil)
	details := again.await("restart", "s", phaseSucceeded)
	running := details.GetAttempts()[0].GetPhaseTransitions()[1]
	require.Equal(t, 1500*time.Millisecond, running.GetEndTime().AsTime().Sub(running.GetStartTime().AsTime()))
}

func TestWrongInputsOfASleep(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("wrong"))
	c.builtinTask("wrong", "two", "core-sleep", nil, lasting(0), lasting(0))
	c.builtinTask("wrong", "text", "core-sleep", nil, primitive("d", &core.Primitive{Value: &core.Primitive_StringValue{StringValue: "long"}}))
	c.builtinTask("wrong", "outputs", "core-sleep", func(template *core.TaskTemplate) {
		template.Interface = &core.TypedInterface{Outputs: &core.VariableMap{Variables: []*core.VariableEntry{{Key: "o0"}}}}
	}, lasting(0))
	missing := childTask("wrong", "a0", "missing")
	missing.InputUri = c.blobs.Root() + "/flytesnacks/development/nowhere/inputs.pb"
	missing.GetTask().GetSpec().GetTaskTemplate().Type = "core-sleep"
	missing.GetTask().GetSpec().GetTaskTemplate().Interface = &core.TypedInterface{
		Inputs: &core.VariableMap{Variables: []*core.VariableEntry{{Key: "duration"}}},
	}
	require.Zero(t, c.record(missing))
	for name, words := range map[string]string{
		"two": "one duration, got 2", "text": "neither a duration", "outputs": "has no outputs", "missing": "do not exist",
	} {
		failure := c.await("wrong", name, phaseFailed).GetErrorInfo()
		require.Contains(t, failure.GetMessage(), words)
		require.Equal(t, workflow.ErrorInfo_KIND_USER, failure.GetKind())
	}
}

func TestEchoesItsInputs(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("echo"))
	variables := func(keys ...string) *core.VariableMap {
		m := &core.VariableMap{}
		for _, key := range keys {
			m.Variables = append(m.Variables, &core.VariableEntry{Key: key})
		}
		return m
	}
	number := func(n int64) *core.Primitive { return &core.Primitive{Value: &core.Primitive_Integer{Integer: n}} }
	c.builtinTask("echo", "e", "echo", func(template *core.TaskTemplate) {
		template.Interface = &core.TypedInterface{Inputs: variables("x", "y"), Outputs: variables("y", "o0")}
	}, primitive("x", number(1)), primitive("y", number(2)))
	c.builtinTask("echo", "bad", "echo", func(template *core.TaskTemplate) {
		template.Interface = &core.TypedInterface{Inputs: variables("x"), Outputs: variables("z")}
	}, primitive("x", number(1)))
	c.await("echo", "e", phaseSucceeded)
	response, err := c.runs.GetActionData(t.Context(), &workflow.GetActionDataRequest{ActionId: actionID("echo", "e")})
	require.NoError(t, err)
	values := map[string]int64{}
	for _, literal := range response.GetOutputs().GetLiterals() {
		values[literal.GetName()] = literal.GetValue().GetScalar().GetPrimitive().GetInteger()
	}
	require.Equal(t, map[string]int64{"y": 2, "o0": 1}, values)
	require.Contains(t, c.await("echo", "bad", phaseFailed).GetErrorInfo().GetMessage(), "output z")
}

func TestDeclaredTimeoutsWhileWaiting(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) { config.Admission.MaxLive = 1 })
	c.create(namedRun("full"))
	limited := func(name string, timeouts *core.TimeoutStrategy) {
		request := childTask("full", "a0", name)
		request.GetTask().GetSpec().GetTaskTemplate().Metadata = &core.TaskMetadata{Timeouts: timeouts}
		require.Zero(t, c.record(request))
	}
	c.child("full", "a0", "first") // takes the only place from its parent
	require.Eventually(t, func() bool { return admitted(c, "full", "first") }, 10*time.Second, 10*time.Millisecond)
	limited("queued", &core.TimeoutStrategy{QueuedTimeout: durationpb.New(500 * time.Millisecond), Deadline: durationpb.New(time.Hour)})
	limited("deadline", &core.TimeoutStrategy{Deadline: durationpb.New(700 * time.Millisecond)})
	for name, code := range map[string]string{"queued": "QUEUED_TIMEOUT_EXCEEDED", "deadline": "DEADLINE_EXCEEDED"} {
		details := c.await("full", name, phaseTimedOut)
		require.Equal(t, code, details.GetErrorInfo().GetCode())
		took := time.Duration(details.GetStatus().GetDurationMs()) * time.Millisecond
		require.Greater(t, took, 400*time.Millisecond)
		require.Less(t, took, 3*time.Second)
	}
	require.Equal(t, common.ActionPhase_ACTION_PHASE_QUEUED, c.phase("full", "first"))
}

func admitted(c *writeFixture, run, action string) bool {
	var at *time.Time
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(),
		`SELECT admitted_at FROM actions WHERE run_name = $1 AND name = $2`, run, action).Scan(&at))
	return at != nil
}

func recordCondition(run, name string, condition *workflow.ConditionAction) *workflow.RecordActionRequest {
	condition.Name = name
	if condition.GetType() == nil {
		condition.Type = &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}}
	}
	return &workflow.RecordActionRequest{
		ActionId: actionID(run, name), Parent: "a0", Spec: &workflow.RecordActionRequest_Condition{Condition: condition},
	}
}

func TestConditionTimeoutIsExplained(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("ask"))
	require.Zero(t, c.record(recordCondition("ask", "c", &workflow.ConditionAction{
		Prompt: "May I?", Description: "why", PromptType: workflow.ConditionPromptType_CONDITION_PROMPT_TYPE_MARKDOWN, Timeout: durationpb.New(400 * time.Millisecond),
	})))
	details := c.await("ask", "c", phaseTimedOut)
	require.Equal(t, "ConditionTimedOut", details.GetErrorInfo().GetCode())
	require.Contains(t, details.GetErrorInfo().GetMessage(), "timeout of 400ms")
	require.Equal(t, "May I?", details.GetCondition().GetPrompt())
	require.Equal(t, "why", details.GetCondition().GetDescription())
	require.Equal(t, workflow.ConditionPromptType_CONDITION_PROMPT_TYPE_MARKDOWN, details.GetCondition().GetPromptType())
	_, err := c.runs.SignalEvent(t.Context(), &workflow.SignalEventRequest{
		ActionId: actionID("ask", "c"), ParentActionName: "a0",
		Payload: &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
	})
	require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err))

	require.Equal(t, connect.CodeInvalidArgument, c.record(recordCondition("ask", "negative", &workflow.ConditionAction{Timeout: durationpb.New(-time.Second)})))
}

// TestEveryTypeOfSignal: a condition takes a value of its own type and no other.
func TestEveryTypeOfSignal(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("types"))
	payloads := map[core.SimpleType]*workflow.EventPayload{
		core.SimpleType_BOOLEAN: {Value: &workflow.EventPayload_BoolValue{BoolValue: false}},
		core.SimpleType_INTEGER: {Value: &workflow.EventPayload_IntValue{IntValue: 0}},
		core.SimpleType_FLOAT:   {Value: &workflow.EventPayload_FloatValue{FloatValue: 0.5}},
		core.SimpleType_STRING:  {Value: &workflow.EventPayload_StringValue{StringValue: ""}},
	}
	for want := range payloads {
		name := fmt.Sprintf("c%d", want)
		require.Zero(t, c.record(recordCondition("types", name, &workflow.ConditionAction{
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: want}},
		})))
		signal := func(got core.SimpleType) error {
			_, err := c.runs.SignalEvent(t.Context(), &workflow.SignalEventRequest{
				ActionId: actionID("types", name), ParentActionName: "a0", Payload: payloads[got],
			})
			return err
		}
		for got := range payloads {
			if got != want {
				require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(signal(got)), "%s for %s", got, want)
			}
		}
		require.NoError(t, signal(want))
		require.NoError(t, signal(want), "the same signal again")
		require.Equal(t, phaseSucceeded, c.phase("types", name))
	}
}
