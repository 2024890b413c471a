package texts

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// check is the answer to a message from outside.
func check(message proto.Message) error { return refusal(Check(message.ProtoReflect(), false)) }

func refusal(at, words string) error {
	if words == "" {
		return nil
	}
	return errors.New(at + ": " + words)
}

// inputs are a value with any text in it.
func inputs(name, value string) *task.Inputs {
	return &task.Inputs{Literals: []*task.NamedLiteral{{Name: name, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
		Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: value}}},
	}}}}}}
}

func TestTextWithNULIsFound(t *testing.T) {
	const bad = "a\x00b"
	for path, message := range map[string]proto.Message{
		"run_id.name":          &workflow.GetRunDetailsRequest{RunId: &common.RunIdentifier{Project: "p", Name: bad}},
		`labels.values["k"]`:   &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"k": bad}}},
		"labels.values":        &task.RunSpec{Labels: &task.Labels{Values: map[string]string{bad: "v"}}},
		"envs.values[1].value": &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{{Key: "x"}, {Key: "y", Value: bad}}}},
		"":                     inputs("x", bad),
	} {
		for _, trusted := range []bool{false, true} {
			at, words := door{trusted}.message(message.ProtoReflect())
			require.Equal(t, path, at)
			require.Equal(t, path != "", words == "must not have a NUL character", words)
		}
	}
}

// TestNamesAndTextsAtTheDoor: each kind of text, with the path of the field and the characters in the answer.
func TestNamesAndTextsAtTheDoor(t *testing.T) {
	action := func(name string) proto.Message {
		return &actions.EnqueueRequest{Action: &actions.Action{ActionId: &common.ActionIdentifier{Name: name}}}
	}
	for _, name := range []string{"../x", "..", ".", "a/b", `a\b`, " ", "a b", "a\u202eb", "é", "-a"} {
		err := check(action(name))
		require.ErrorContains(t, err, "action.action_id.name: ", "%q", name)
		require.ErrorContains(t, err, "letters, digits, dashes and underscores")
		require.NoError(t, refusal(Check(action(name).ProtoReflect(), true)), "services are trusted with what they stored before")
	}
	for words, message := range map[string]proto.Message{
		`run_id.project: ".." is not a valid name`:                     &workflow.AbortRunRequest{RunId: &common.RunIdentifier{Project: ".."}},
		`action.parent_action_name: "../x" is not a valid name`:        &actions.EnqueueRequest{Action: &actions.Action{ParentActionName: proto.String("../x")}},
		`reason: "all\u202enice" has the character U+202E`:             &workflow.AbortRunRequest{Reason: proto.String("all\u202enice")},
		`reason: "\x1b[2J" has the character U+001B`:                   &workflow.AbortRunRequest{Reason: proto.String("\x1b[2J")},
		`spec.environment.name: "e\u200bnv" has the character U+200B`:  &task.DeployTaskRequest{Spec: &task.TaskSpec{Environment: &task.Environment{Name: "e\u200bnv"}}},
		`action.condition.name: "two\nlines" has the character U+000A`: &actions.EnqueueRequest{Action: &actions.Action{Spec: &actions.Action_Condition{Condition: &workflow.ConditionAction{Name: "two\nlines"}}}},
		`secrets[0].group: "../etc" is not a valid name`:               &core.SecurityContext{Secrets: []*core.Secret{{Group: "../etc"}}},
		`labels.values["team"]: "blue\u2067" has the character U+2067`: &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"team": "blue\u2067"}}},
		`literals[0].name: "x\u200f" has the character U+200F`:         inputs("x\u200f", ""),
	} {
		require.ErrorContains(t, check(message), words)
	}
}

// TestOneRuleForIdsOfProjects: whatever is wrong with the id of a new project, the answer has the rule that holds.
func TestOneRuleForIdsOfProjects(t *testing.T) {
	create := func(id string) error {
		return check(&project.CreateProjectRequest{Project: &project.Project{Id: id}})
	}
	for _, id := range []string{"a b", "a_b", "a.b", "A", "-a", "a-", "é", strings.Repeat("a", 64)} {
		require.ErrorContains(t, create(id), "project.id: ", id)
		require.ErrorContains(t, create(id), ident.ProjectRule, id)
	}
	for _, id := range []string{"a", "0", "a-b", "flytesnacks", strings.Repeat("a", 63)} {
		require.NoError(t, create(id), id)
	}
	require.NoError(t, check((&project.GetProjectRequest{Id: "a_b"})), "it may exist since an earlier version")
}

func TestTextsThatPassTheDoor(t *testing.T) {
	for _, message := range []proto.Message{
		&workflow.AbortRunRequest{RunId: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r1"}, Reason: proto.String("two\n\tlines: שלום 👩\u200d💻")},
		&actions.EnqueueRequest{Action: &actions.Action{Group: "größe 1–10", Spec: &actions.Action_Condition{Condition: &workflow.ConditionAction{Name: "Is it fine? (y/n)"}}}},
		&task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{{Key: "X", Value: "\x1b[1m\u202e"}}}},
		inputs("x", "\x1b\u202e\u200b"),
	} {
		before := proto.Clone(message)
		require.NoError(t, check(message))
		require.True(t, proto.Equal(before, message), "%v", message)
	}
}

// TestTextForPeopleIsInNormalForm: what people read is brought to NFC, what programs compare stays as it is.
func TestTextForPeopleIsInNormalForm(t *testing.T) {
	const decomposed, composed = "cafe\u0301", "caf\u00e9"
	request := &task.DeployTaskRequest{TaskId: &task.TaskIdentifier{Name: decomposed}, Spec: &task.TaskSpec{
		Documentation: &task.DocumentationEntity{ShortDescription: decomposed},
		DefaultInputs: []*task.NamedParameter{{Name: decomposed}},
	}}
	require.NoError(t, check(request))
	require.Equal(t, composed, request.GetTaskId().GetName())
	require.Equal(t, composed, request.GetSpec().GetDocumentation().GetShortDescription())
	require.Equal(t, decomposed, request.GetSpec().GetDefaultInputs()[0].GetName())
}

// TestMessagesWithoutTextsAreSkipped: the check visits only fields that may have a text below them, also where messages
// contain themselves.
func TestMessagesWithoutTextsAreSkipped(t *testing.T) {
	names := func(message proto.Message) []string {
		var names []string
		for _, field := range textsOf(message.ProtoReflect().Descriptor()) {
			names = append(names, string(field.Name()))
		}
		return names
	}
	require.Empty(t, names(&timestamppb.Timestamp{}))
	require.ElementsMatch(t, []string{"struct_value", "list_value", "string_value"}, names(&structpb.Value{}))
	require.NotContains(t, names(&core.TaskTemplate{}), "task_type_version")
	require.Contains(t, names(&core.LiteralCollection{}), "literals", "a message that contains itself")
}
