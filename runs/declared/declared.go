// Package declared judges what the specs of runs and tasks declare: what this server does not honor is refused where a
// program cannot be right without it, and becomes a note on the action otherwise. What no pod could have is refused, too.
// Nothing is dropped silently. It builds on internal/names/tasktype and internal/kube/kuberule.
package declared

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// The reasons of notes.
const (
	reasonAlone       = "RunsAlone"
	reasonNotHonoured = "NotHonoured"
)

// Refusal says which field of a spec is refused, by its path in the spec, and why.
type Refusal struct {
	Path, Words string
}

// In is the error for a request that has the spec in a field.
func (r *Refusal) In(field string) error { return rpc.InvalidArgument(field+"."+r.Path, "%s", r.Words) }

// Task judges the spec of a task, by the types that are served.
func Task(spec *task.TaskSpec, types tasktype.Set) ([]protomap.Note, *Refusal) {
	taskType := spec.GetTaskTemplate().GetType()
	if words := types.Refusal(spec.GetTaskTemplate()); words != "" {
		return nil, &Refusal{Path: "task_template.type", Words: words}
	}
	notes, refusal := judge(spec)
	if spec.GetTaskTemplate().GetSql() != nil && types.Connector() == "" && refusal == nil {
		refusal = &Refusal{Path: "task_template.sql", Words: "only connectors run SQL statements, and no connector serves tasks of type \"" + taskType + "\""}
	}
	if path, words := kuberule.Task(spec.GetTaskTemplate()); refusal == nil && words != "" {
		refusal = &Refusal{Path: "task_template." + path, Words: words}
	}
	if words := types.Note(taskType); words != "" {
		notes = append(notes, protomap.Note{Reason: reasonAlone, Message: words})
	} else if taskType == tasktype.Ray {
		notes = slices.DeleteFunc(notes, IsReuse) // its attempts share a Ray cluster
	}
	return notes, refusal
}

// IsReuse reports whether a note says that processes are not reused. It does not hold for an action that a worker runs, nor for one that
// shares a Ray cluster.
func IsReuse(note protomap.Note) bool { return strings.HasSuffix(note.Message, ": "+noReuse) }

// Run judges the spec of a run.
func Run(spec *task.RunSpec) ([]protomap.Note, *Refusal) {
	notes, refusal := judge(spec)
	if path, words := kuberule.Run(spec); refusal == nil && words != "" {
		refusal = &Refusal{Path: path, Words: words}
	}
	if len(spec.GetSecurityContext().GetSecrets()) > 0 {
		notes = append(notes, protomap.Note{
			Reason: reasonNotHonoured, Message: "security_context.secrets: tasks get only the secrets that they ask for themselves",
		})
	}
	return notes, refusal
}

// judgement collects what is found in one spec.
type judgement struct {
	notes   []protomap.Note
	noted   map[*ruling]bool // once for all elements of a list
	refusal *Refusal
}

func judge(spec proto.Message) ([]protomap.Note, *Refusal) {
	message := spec.ProtoReflect()
	if !message.IsValid() {
		return nil, nil
	}
	j := &judgement{noted: map[*ruling]bool{}}
	j.message("", message)
	slices.SortFunc(j.notes, func(a, b protomap.Note) int { return strings.Compare(a.Message, b.Message) })
	return j.notes, j.refusal
}

// message judges the fields that are set, until the first that is refused.
func (j *judgement) message(prefix string, message protoreflect.Message) {
	rulings, known := decisions[message.Descriptor().FullName()]
	if !known {
		return // belongs to the user's program; a test demands a decision for every other message
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		path := prefix + string(field.Name())
		switch ruling := rulings[field.Name()]; {
		case ruling == nil: // a test keeps such fields out
		case ruling.refused:
			j.refusal = &Refusal{Path: path, Words: ruling.words}
		case ruling.words != "":
			j.note(ruling, path)
		case ruling.values != nil:
			j.value(ruling, path, field.Enum().Values().ByNumber(value.Enum()), value.Enum())
		default:
			j.below(path, field, value)
		}
		return j.refusal == nil
	})
}

func (j *judgement) note(ruling *ruling, path string) {
	if !j.noted[ruling] {
		j.noted[ruling] = true
		j.notes = append(j.notes, protomap.Note{Reason: reasonNotHonoured, Message: path + ": " + ruling.words})
	}
}

// value judges the value of an enum; known is nil for a number that this contract does not have.
func (j *judgement) value(of *ruling, path string, known protoreflect.EnumValueDescriptor, number protoreflect.EnumNumber) {
	if known == nil {
		j.refusal = &Refusal{Path: path, Words: fmt.Sprintf("this server does not know the value %d", number)}
		return
	}
	switch ruling := of.values[known.Name()]; {
	case ruling == nil:
	case ruling.refused:
		j.refusal = &Refusal{Path: path, Words: string(known.Name()) + ": " + ruling.words}
	default:
		j.note(ruling, path)
	}
}

func (j *judgement) below(path string, field protoreflect.FieldDescriptor, value protoreflect.Value) {
	switch {
	case field.Message() == nil || field.IsMap():
	case field.IsList():
		for i := 0; i < value.List().Len() && j.refusal == nil; i++ {
			j.message(path+".", value.List().Get(i).Message())
		}
	default:
		j.message(path+".", value.Message())
	}
}

// ruling is the decision about one field, or about one value of an enum. Without words it is honored, or only shown.
type ruling struct {
	words   string
	refused bool
	// values are the decisions about the values of an enum; nil if all are honored, and so are numbers that it does not have.
	values map[protoreflect.Name]*ruling
}

// decision is what is decided about the fields of one message. Each field is in one of its parts.
type decision struct {
	// honored are the names of the fields that have the effect that the contract gives them.
	honoured string
	// shown are the names of the fields that are only shown and have no other effect.
	shown string
	// noted are fields that a program can be right without, and what people should know.
	noted map[protoreflect.Name]string
	// refused are fields that a program cannot be right without, and why they are refused.
	refused map[protoreflect.Name]string
	// values are fields with an enum of which these values are not honored. A number that the enum does not have is refused.
	values map[protoreflect.Name]enum
}

// enum has the values of an enum that are not honored.
type enum struct{ noted, refused map[protoreflect.Name]string }

func (d decision) rulings() map[protoreflect.Name]*ruling {
	rulings := map[protoreflect.Name]*ruling{}
	for name := range strings.FieldsSeq(d.honoured + " " + d.shown) {
		rulings[protoreflect.Name(name)] = &ruling{}
	}
	for name, words := range d.noted {
		rulings[name] = &ruling{words: words}
	}
	for name, words := range d.refused {
		rulings[name] = &ruling{words: words, refused: true}
	}
	for name, e := range d.values {
		rulings[name] = &ruling{values: decision{noted: e.noted, refused: e.refused}.rulings()}
	}
	return rulings
}
