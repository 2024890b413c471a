package attempttest

import (
	"maps"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Assigned is an action with a command, of a run below a base in the object store. The run sets variables, some of which belong to
// the platform or cannot be set.
func Assigned(base string, command ...string) *enginev1.Assignment {
	action := ident.Action{Run: ident.Run{Project: "p", Domain: "d", Name: "r1"}, Name: "a0"}
	template := &core.TaskTemplate{
		Id: &core.Identifier{Project: "tp", Domain: "td", Name: "env.main", Version: "v1"}, Type: "python",
		Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "image", Command: command}},
	}
	return &enginev1.Assignment{
		Ref: &enginev1.ActionRef{Id: action.Proto(), Uid: 7}, Attempt: 1, RunOutputBase: base + "/r1/", InputUri: base + "/inputs",
		Task: &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: template}},
		RunSpec: &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{
			{Key: "MODE", Value: "first"}, {Key: "MODE", Value: "run"}, {Key: "PRICE", Value: "$$(X)"}, {Key: "ACTION_NAME", Value: "spoof"}, {Key: "not=valid", Value: "x"},
		}}},
	}
}

// Environment is what every process of the second attempt of Assigned gets, among others. legacy adds the variables of Flyte 1.
func Environment(base string, legacy bool) map[string]string {
	result := map[string]string{
		"ACTION_NAME": "a0", "RUN_NAME": "r1", "FLYTE_INTERNAL_EXECUTION_PROJECT": "p", "FLYTE_INTERNAL_EXECUTION_DOMAIN": "d",
		"FLYTE_ATTEMPT_NUMBER": "1", "_U_RUN_BASE": base + "/r1/", "_U_USE_ACTIONS": "1", "MODE": "run", "PRICE": "$$(X)",
	}
	if legacy {
		maps.Copy(result, map[string]string{
			"FLYTE_INTERNAL_EXECUTION_ID": "r1",
			"FLYTE_INTERNAL_TASK_PROJECT": "tp", "FLYTE_INTERNAL_TASK_DOMAIN": "td", "FLYTE_INTERNAL_TASK_NAME": "env.main", "FLYTE_INTERNAL_TASK_VERSION": "v1",
			"FLYTE_INTERNAL_PROJECT": "tp", "FLYTE_INTERNAL_DOMAIN": "td", "FLYTE_INTERNAL_NAME": "env.main", "FLYTE_INTERNAL_VERSION": "v1",
		})
	}
	return result
}

// Argument is one argument of a task, and what every process gets for it.
type Argument struct {
	Name string
	// Text is the argument as it is declared.
	Text string
	// Inputs is the document with the inputs; nil for none.
	Inputs []byte
	// NoURI means that the action has no inputs at all.
	NoURI bool
	// Want is the argument of the process, if Refused is empty.
	Want string
	// Refused is part of the message of the failure, which is BadTaskSpecification.
	Refused string
}

// Arguments are arguments with templates, below a base as that of Assigned.
func Arguments(base string) []Argument {
	given := inputs("x", "$HOME and {{.runName}}")
	return []Argument{
		{Name: "an input", Text: "--x={{.inputs.x}}", Inputs: given, Want: "--x=$HOME and {{.runName}}"},
		{Name: "an input of another name", Text: "{{.inputs.y}}", Inputs: given, Refused: `the input "y", which the task was not given`},
		{Name: "an input of an action without inputs", Text: "{{.inputs.x}}", NoURI: true, Refused: `the input "x", which the task was not given`},
		{Name: "no document", Text: "{{.inputs.x}}", Refused: "cannot be read"},
		{Name: "a damaged document", Text: "{{.inputs.x}}", Inputs: []byte{0xff}, Refused: "cannot be read"},
		{Name: "no template", Text: "{{.other}} $HOME", Want: "{{.other}} $HOME"},
		{Name: "directories", Text: "{{.outputPrefix}} {{.rawOutputDataPrefix}} {{.input}}", Want: base + "/r1/a0/2 " + base + "/r1/a0/2 " + base + "/inputs/inputs.pb"},
		{Name: "the place of inputs that do not exist", Text: "<{{.input}}{{.inputPrefix}}>", NoURI: true, Want: "<>"},
		{Name: "the last checkpoint", Text: "{{.prevCheckpointPrefix}}", Want: base + "/r1/a0/1/_flytecheckpoints"},
	}
}

func inputs(name, text string) []byte {
	value := &core.Primitive{Value: &core.Primitive_StringValue{StringValue: text}}
	literal := &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: value}}}}
	body, _ := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: name, Value: literal}}}) // it has no invalid text
	return body
}
