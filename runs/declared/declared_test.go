package declared

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// program reports messages that belong to the user's program, with any content.
func program(name protoreflect.FullName) bool {
	return name == "flyteidl2.core.Literal" || name == "flyteidl2.core.LiteralType" || strings.HasPrefix(string(name), "google.protobuf.")
}

// TestEveryDeclaredFieldIsDecided walks all fields that the specs of runs, tasks, traces and conditions can have. A new
// field of the contract fails it until the table says how it is treated.
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
		require.Len(t, decisions[name], len(fields)+len(d.noted)+len(d.refused)+len(d.values), "%s decides twice about a field", name)
	}
}

// TestWhatIsNotHonouredIsDocumented: docs/wire-compatibility.md has a row for each field, and no other.
func TestWhatIsNotHonouredIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire-compatibility.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## What is not honored")
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
		for field, decided := range d.values {
			for result, set := range map[string]map[protoreflect.Name]string{"noted": decided.noted, "refused": decided.refused} {
				for value, words := range set {
					fields++
					require.Contains(t, section, "| `"+string(name.Name())+"."+string(field)+"` = `"+string(value)+"` | "+result+" | "+words+" |")
				}
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

	notes, refusal := Task(spec, tasktype.NewSet(map[string]string{"spark": "pod"}, nil))
	require.Nil(t, refusal)
	require.ElementsMatch(t, []string{
		"task_template.interface.outputs.variables.value.artifact_tag: " + noArtifacts,
		`a task of type "spark" runs alone here, in one plain pod, because executor.plugins.taskTypes has spark=pod`,
	}, messages(notes))

	_, refusal = Task(&task.TaskSpec{TaskTemplate: &core.TaskTemplate{Type: "python", Target: &core.TaskTemplate_Sql{Sql: &core.Sql{}}}}, tasktype.Set{})
	require.ErrorContains(t, refusal.In("task_spec"), "task_spec.task_template.sql: only connectors run SQL statements")
}

// TestWhatAWorkerKindAsksFor: values of enums are decided one by one, and numbers that the contract does not have are refused.
func TestWhatAWorkerKindAsksFor(t *testing.T) {
	judged := func(template *core.TaskTemplate) ([]string, string) {
		template.Type = "python"
		notes, refusal := Task(&task.TaskSpec{TaskTemplate: template}, tasktype.Set{})
		if refusal == nil {
			return messages(notes), ""
		}
		return messages(notes), refusal.Path + ": " + refusal.Words
	}
	apple := func(accelerator *core.GPUAccelerator) *core.TaskTemplate {
		return &core.TaskTemplate{ExtendedResources: &core.ExtendedResources{GpuAccelerator: accelerator}}
	}
	const gpu = "task_template.extended_resources.gpu_accelerator."
	for name, c := range map[string]struct {
		template *core.TaskTemplate
		notes    []string
		refusal  string
	}{
		"reusable":      {&core.TaskTemplate{WorkerKind: core.WorkerKind_WORKER_KIND_REUSABLE}, []string{"task_template.worker_kind: " + noReuse}, ""},
		"sandbox":       {&core.TaskTemplate{WorkerKind: core.WorkerKind_WORKER_KIND_SANDBOX}, nil, "task_template.worker_kind: WORKER_KIND_SANDBOX: " + noSandbox},
		"microvm":       {&core.TaskTemplate{WorkerKind: core.WorkerKind_WORKER_KIND_MICROVM}, nil, "task_template.worker_kind: WORKER_KIND_MICROVM: " + noSandbox},
		"unknown":       {&core.TaskTemplate{WorkerKind: 99}, nil, "task_template.worker_kind: this server does not know the value 99"},
		"apple's class": {apple(&core.GPUAccelerator{DeviceClass: core.GPUAccelerator_APPLE_SILICON}), nil, gpu + "device_class: APPLE_SILICON: " + noApple},
		"apple's model": {apple(&core.GPUAccelerator{AcceleratorModel: core.AcceleratorModel_APPLE_SILICON_GPU}), nil, gpu + "accelerator_model: APPLE_SILICON_GPU: " + noApple},
		"unknown class": {apple(&core.GPUAccelerator{DeviceClass: 77}), nil, gpu + "device_class: this server does not know the value 77"},
		"a common one":  {apple(&core.GPUAccelerator{DeviceClass: core.GPUAccelerator_AMD_GPU, AcceleratorModel: core.AcceleratorModel_AMD_MI300X}), nil, ""},
	} {
		notes, refusal := judged(c.template)
		require.Equal(t, c.notes, notes, name)
		require.Equal(t, c.refusal, refusal, name)
	}
	notes, _ := Task(&task.TaskSpec{TaskTemplate: &core.TaskTemplate{WorkerKind: core.WorkerKind_WORKER_KIND_REUSABLE, ReusePolicy: &core.ReusePolicy{}}}, tasktype.Set{})
	require.Len(t, notes, 2)
	require.True(t, IsReuse(notes[0]) && IsReuse(notes[1]), "a task that a worker runs has neither note")
}

// TestAReusableRayTask shares a cluster, which its attempt says.
func TestAReusableRayTask(t *testing.T) {
	reusable := &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Type: tasktype.Ray, ReusePolicy: &core.ReusePolicy{}}}
	notes, _ := Task(reusable, tasktype.NewSet(map[string]string{tasktype.Ray: "ray"}, map[string]string{tasktype.Ray: "ray"}))
	require.Empty(t, notes)
	notes, _ = Task(reusable, tasktype.NewSet(map[string]string{tasktype.Ray: "pod"}, map[string]string{tasktype.Ray: "ray"}))
	require.Contains(t, messages(notes), "task_template.reuse_policy: "+noReuse, "it runs in a plain pod")
}

// TestEveryValueOfAJudgedEnumIsDecided fails when the contract gets a value that the table says nothing about: decide whether it is
// honored, then raise the number.
func TestEveryValueOfAJudgedEnumIsDecided(t *testing.T) {
	want := map[protoreflect.FullName]int{"flyteidl2.core.WorkerKind": 4, "flyteidl2.core.GPUAccelerator.DeviceClass": 6, "flyteidl2.core.AcceleratorModel": 41}
	found := map[protoreflect.FullName]int{}
	for message, d := range table {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(message)
		require.NoError(t, err)
		for field, decided := range d.values {
			values := kind.Descriptor().Fields().ByName(field).Enum()
			found[values.FullName()] = values.Values().Len()
			for value := range maps.Keys(decided.noted) {
				require.NotNil(t, values.Values().ByName(value), value)
			}
			for value := range maps.Keys(decided.refused) {
				require.NotNil(t, values.Values().ByName(value), value)
			}
		}
	}
	require.Equal(t, want, found)
}

func messages(notes []protomap.Note) []string {
	var all []string
	for _, note := range notes {
		all = append(all, note.Message)
	}
	return all
}
