package declared

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// program reports messages that belong to the user's program, with any content.
func program(name protoreflect.FullName) bool {
	return name == "flyteidl2.core.Literal" || name == "flyteidl2.core.LiteralType" || strings.HasPrefix(string(name), "google.protobuf.")
}

// TestEveryDeclaredFieldIsDecided walks all fields that the specs of runs, tasks, traces and conditions can have. A new
// field of the contract fails it until the table says what becomes of it.
func TestEveryDeclaredFieldIsDecided(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(message protoreflect.MessageDescriptor)
	walk = func(message protoreflect.MessageDescriptor) {
		if seen[message.FullName()] || program(message.FullName()) {
			return
		}
		seen[message.FullName()] = true
		rulings := decisions[message.FullName()]
		require.NotNil(t, rulings, "the table has no decision about %s", message.FullName())
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			ruling := rulings[field.Name()]
			require.NotNil(t, ruling, "the table has no decision about %s", field.FullName())
			if ruling.words == "" && field.Message() != nil && !field.IsMap() {
				walk(field.Message())
			}
		}
	}
	for _, root := range []proto.Message{&task.RunSpec{}, &workflow.TaskAction{}, &workflow.TraceAction{}, &workflow.ConditionAction{}} {
		walk(root.ProtoReflect().Descriptor())
	}
	for name, d := range table {
		require.True(t, seen[name], "%s is in no spec, or below a field that is not honoured", name)
		fields := strings.Fields(d.honoured + " " + d.shown)
		if strings.HasPrefix(string(name), "flyteidl2.workflow.") {
			require.Empty(t, len(d.noted)+len(d.refused), "nothing judges %s yet", name)
		}
		require.Len(t, decisions[name], len(fields)+len(d.noted)+len(d.refused), "%s decides twice about a field", name)
	}
}

// TestWhatIsNotHonouredIsDocumented: docs/wire-compatibility.md has a row for each field, and no other.
func TestWhatIsNotHonouredIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire-compatibility.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## What is not honoured")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	fields := 0
	for name, d := range table {
		for result, set := range map[string]map[protoreflect.Name]string{"noted": d.noted, "refused": d.refused} {
			for field, words := range set {
				fields++
				row := "| `" + string(name.Name()) + "." + string(field) + "` | " + result + " | " + words + " |"
				require.Contains(t, section, row)
			}
		}
	}
	require.Equal(t, fields+1, strings.Count(section, "\n| `"), "one row each, and one for the secrets of runs")
}

func TestWhatARunDeclares(t *testing.T) {
	notes, refusal := Run(&task.RunSpec{
		Queue: "default", ClusterPool: "gpu", Labels: &task.Labels{Values: map[string]string{"a": "b"}},
		SecurityContext:      &core.SecurityContext{Secrets: []*core.Secret{{Key: "k"}}},
		NotificationSettings: &task.RunSpec_NotificationRules{NotificationRules: &task.InlineRuleList{Rules: []*task.InlineRule{{}}}},
	})
	require.Nil(t, refusal)
	require.ElementsMatch(t, []string{
		"cluster_pool: this server has no pools of clusters; the queue decides where actions run",
		"security_context.secrets: tasks get only the secrets that they ask for themselves",
	}, messages(notes))

	notes, refusal = Run(nil)
	require.Empty(t, notes)
	require.Nil(t, refusal)

	_, refusal = Run(&task.RunSpec{SecurityContext: &core.SecurityContext{RunAs: &core.Identity{IamRole: "admin"}}})
	require.ErrorContains(t, refusal.In("run_spec"), "run_spec.security_context.run_as.iam_role: "+noIdentity)
}

func TestWhatATaskDeclares(t *testing.T) {
	template := &core.TaskTemplate{
		Type:     "spark",
		Metadata: &core.TaskMetadata{ProducesArtifacts: true, Retries: &core.RetryStrategy{Retries: 3}},
		Custom:   &structpb.Struct{Fields: map[string]*structpb.Value{"workers": structpb.NewNumberValue(8)}},
		Interface: &core.TypedInterface{Outputs: &core.VariableMap{Variables: []*core.VariableEntry{
			{Key: "x", Value: &core.Variable{ArtifactTag: &core.ArtifactTag{}}}, {Key: "y", Value: &core.Variable{ArtifactTag: &core.ArtifactTag{}}},
		}}},
	}
	spec := &task.TaskSpec{TaskTemplate: template}
	_, refusal := Task(spec, tasktype.Set{})
	require.ErrorContains(t, refusal.In("task_spec"), `task_spec.task_template.type: no part of this installation serves tasks of type "spark"`)

	notes, refusal := Task(spec, tasktype.NewSet(map[string]string{"spark": "pod"}))
	require.Nil(t, refusal)
	require.ElementsMatch(t, []string{
		"task_template.interface.outputs.variables.value.artifact_tag: " + noArtifacts,
		`a task of type "spark" runs alone here, in one plain pod, because executor.plugins.taskTypes has spark=pod`,
	}, messages(notes))

	_, refusal = Task(&task.TaskSpec{TaskTemplate: &core.TaskTemplate{Type: "python", Target: &core.TaskTemplate_Sql{Sql: &core.Sql{}}}}, tasktype.Set{})
	require.ErrorContains(t, refusal.In("task_spec"), "task_spec.task_template.sql: this server runs no SQL statements")
}

func messages(notes []protomap.Note) []string {
	var all []string
	for _, note := range notes {
		all = append(all, note.Message)
	}
	return all
}
