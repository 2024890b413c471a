package podspec_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

func stringInputs(t *testing.T, values map[string]string) []byte {
	t.Helper()
	inputs := &task.Inputs{}
	for name, value := range values {
		inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: name, Value: &core.Literal{
			Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
				Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: value}},
			}}},
		}})
	}
	body, err := proto.Marshal(inputs)
	require.NoError(t, err)
	return body
}

func commandTask(command ...string) *core.TaskTemplate {
	return plugintest.ContainerTask(func(c *core.Container) { c.Command = command })
}

func TestInputsInArguments(t *testing.T) {
	b := newBench(t)
	b.blobs.Objects["/base/p/d/r1/inputs/inputs.pb"] = stringInputs(t, map[string]string{"Name": "{{.runName}}; rm", "x.y": "2", "empty": ""})
	made := b.build(t, plugintest.AttemptOf(commandTask("echo", "{{.inputs.Name}}-{{ $INPUTS.x.y }}", "{{.Inputs.empty}}", "{{.inputs}}")))
	require.Equal(t, []string{"echo", "{{.runName}}; rm-2", "", "{{.inputs}}"}, made.Spec.Containers[0].Command, "a value is not a template itself")
	require.Equal(t, 1, b.blobs.Asked)
}

func TestInputsAreReadOnlyWhenMentioned(t *testing.T) {
	b := newBench(t)
	b.build(t, plugintest.AttemptOf(commandTask("echo", "{{.input}}", "{{.prevCheckpointPrefix}}")))
	require.Zero(t, b.blobs.Asked)
}

func TestInputsThatCannotBeRendered(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*bench)
		words   string
		change  func(*v1.TaskActionSpec)
	}{
		"another name": {prepare: func(*bench) {}, words: `the input "x", which the task was not given`},
		"no inputs":    {prepare: func(*bench) {}, words: "not given", change: func(s *v1.TaskActionSpec) { s.InputURI = "" }},
		"no file":      {prepare: func(b *bench) { clear(b.blobs.Objects) }, words: "cannot be read"},
		"malformed":    {prepare: func(b *bench) { b.blobs.Objects["/base/p/d/r1/inputs/inputs.pb"] = []byte{0xff} }, words: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.blobs.Objects["/base/p/d/r1/inputs/inputs.pb"] = stringInputs(t, map[string]string{"X": "1"})
			tc.prepare(b)
			attempt := plugintest.AttemptOf(commandTask("{{.inputs.x}}"))
			if tc.change != nil {
				tc.change(&attempt.Task.Spec)
			}
			why := b.lost(t, attempt)
			require.Equal(t, failure.BadTaskSpecification, why.Reason)
			require.False(t, why.Recoverable)
			require.Contains(t, why.Message, tc.words)
		})
	}
}

func TestAnOutageOfTheStoreCostsNoAttempt(t *testing.T) {
	b := newBench(t)
	b.blobs.Down = errors.New("connection refused")
	for _, attempt := range []string{"{{.inputs.x}}", "{{.prevCheckpointPrefix}}"} {
		_, err := b.builder.Build(t.Context(), plugintest.Second(plugintest.AttemptOf(commandTask(attempt))))
		require.ErrorContains(t, err, "connection refused")
		require.Nil(t, failure.Of(err))
	}
}

func TestTheLastCheckpointSurvivesAttemptsThatSavedNone(t *testing.T) {
	b := newBench(t)
	third := func() []string {
		attempt := plugintest.Second(plugintest.AttemptOf(commandTask("{{.checkpointOutputPrefix}}", "{{.prevCheckpointPrefix}}")))
		attempt.Number, attempt.Dir, attempt.PreviousDir = 3, "/base/p/d/r1/a0/3", "/base/p/d/r1/a0/2"
		return b.build(t, attempt).Spec.Containers[0].Command
	}
	require.Equal(t, []string{"/base/p/d/r1/a0/3/_flytecheckpoints", "/base/p/d/r1/a0/2/_flytecheckpoints"}, third(), "none was saved")
	b.blobs.Objects["/base/p/d/r1/a0/1/_flytecheckpoints"] = []byte("saved")
	require.Equal(t, "/base/p/d/r1/a0/1/_flytecheckpoints", third()[1], "the second attempt was lost before it saved anything")
	b.blobs.Objects["/base/p/d/r1/a0/2/_flytecheckpoints"] = []byte("saved")
	require.Equal(t, "/base/p/d/r1/a0/2/_flytecheckpoints", third()[1])
}
