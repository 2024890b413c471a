package taskactions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
)

// Story R22: two runs of one name in different projects shared an object of the cluster.
func TestNamesAreDNSLabelsAndTellActionsApart(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		draw := func(name string) string { return rapid.StringN(0, 40, 80).Draw(t, name) }
		action := ident.Action{Run: ident.Run{Project: draw("project"), Domain: draw("domain"), Name: draw("run")}, Name: draw("action")}
		uid := rapid.Int64Min(1).Draw(t, "uid")
		name := taskactions.Name(action, uid)
		require.Empty(t, validation.IsDNS1123Label(name), name)
		require.Equal(t, name, taskactions.Name(action, uid))
		require.NotEqual(t, name, taskactions.Name(action, uid+1))
		other := action
		other.Run.Domain += "x"
		require.NotEqual(t, name, taskactions.Name(other, uid))
		for key, value := range taskactions.IdentityLabels(action, uid) {
			require.Empty(t, validation.IsQualifiedName(key))
			require.Empty(t, validation.IsValidLabelValue(value), value)
		}
		require.Empty(t, validation.IsDNS1123Subdomain(v1.PodName(name, 12)))
	})
}

func TestNameHasTheReadableParts(t *testing.T) {
	action := ident.Run{Project: "p", Domain: "d", Name: "rAbc"}.Root()
	name := taskactions.Name(action, 7)
	require.True(t, strings.HasPrefix(name, "rabc-a0-"), name)
	require.Len(t, name, len("rabc-a0-")+8)
	require.Equal(t, name+"-0", v1.PodName(name, 1))
}

func TestFromAssignment(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	template := &core.TaskTemplate{
		Type:            "python",
		SecurityContext: &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "trainer"}},
	}
	run := ident.Run{Project: "p", Domain: "d", Name: "r1"}
	assignment := &enginev1.Assignment{
		Ref:    &enginev1.ActionRef{Uid: 42, Id: run.Root().Proto()},
		Parent: "",
		Group:  "g",
		Task:   &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: template, ShortName: "main"}, CacheKey: wrapperspb.String("key")},
		RunSpec: &task.RunSpec{
			Labels:         &task.Labels{Values: map[string]string{"team": "ml", "bad key!": "x", "flyte.org/run": "spoof", "long": strings.Repeat("v", 80)}},
			Annotations:    &task.Annotations{Values: map[string]string{"note": "any text at all", "flyte.org/x": "no"}},
			Envs:           &task.Envs{Values: []*core.KeyValuePair{{Key: "B", Value: "2"}, {Key: "A", Value: "1"}, {Key: "", Value: "none"}}},
			Interruptible:  wrapperspb.Bool(false),
			RawDataStorage: &task.RawDataStorage{RawDataPrefix: "s3://raw"},
		},
		InputUri:      "/in",
		RunOutputBase: "/base/",
		Attempt:       3,
		RunStartTime:  timestamppb.New(start),
	}
	got := taskactions.FromAssignment(assignment, "ns")
	require.Equal(t, got, taskactions.FromAssignment(assignment, "ns"), "deterministic")
	require.Equal(t, taskactions.Name(run.Root(), 42), got.Name)
	require.Equal(t, "ns", got.Namespace)
	require.Equal(t, map[string]string{
		"team": "ml", v1.LabelManaged: "true", v1.LabelProject: "p", v1.LabelDomain: "d", v1.LabelRun: "r1", v1.LabelAction: "a0", v1.LabelShard: "11", v1.LabelUID: "42",
	}, got.Labels)
	require.Equal(t, map[string]string{"note": "any text at all"}, got.Annotations)
	require.Equal(t, []v1.EnvVar{{Name: "B", Value: "2"}, {Name: "A", Value: "1"}}, got.Spec.Env)
	require.False(t, *got.Spec.Interruptible)
	require.Equal(t, "trainer", got.Spec.ServiceAccount)
	require.Equal(t, int32(3), got.CurrentAttempt())
	require.Equal(t, "s3://raw", got.Spec.RawDataPrefix)
	require.Equal(t, "key", got.Spec.CacheKey)
	require.True(t, got.Spec.RunStartTime.Time.Equal(start))
	decoded := &core.TaskTemplate{}
	require.NoError(t, proto.Unmarshal(got.Spec.TaskTemplate, decoded))
	require.True(t, proto.Equal(template, decoded))
}

func TestDefaultsOfARunAreSmall(t *testing.T) {
	entry := func(name core.Resources_ResourceName, value string) *core.Resources_ResourceEntry {
		return &core.Resources_ResourceEntry{Name: name, Value: value}
	}
	spec := &task.RunSpec{
		Annotations: &task.Annotations{Values: map[string]string{ident.AnnotationMirrorLimits: "true", ident.AnnotationServiceAccount: "tasks"}},
		DefaultSettings: &task.DefaultSettings{
			PodTemplateName: "base",
			TaskResourceDefaults: &task.TaskResourceDefaults{
				Requests:           []*core.Resources_ResourceEntry{entry(core.Resources_CPU, "1"), entry(core.Resources_UNKNOWN, "2")},
				Max:                []*core.Resources_ResourceEntry{entry(core.Resources_STORAGE, "1Gi"), entry(core.Resources_MEMORY, "")},
				DefaultAccelerator: &core.GPUAccelerator{Device: "nvidia-l4"},
			},
		},
	}
	assignment := &enginev1.Assignment{RunSpec: spec, Task: &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{}}}}
	made := taskactions.FromAssignment(assignment, "ns")
	accelerator, err := proto.Marshal(spec.GetDefaultSettings().GetTaskResourceDefaults().GetDefaultAccelerator())
	require.NoError(t, err)
	require.Equal(t, &v1.Defaults{
		PodTemplate: "base", Requests: map[string]string{"cpu": "1"}, Max: map[string]string{"ephemeral-storage": "1Gi"},
		MirrorLimits: true, ServiceAccount: "tasks", Accelerator: accelerator,
	}, made.Spec.Defaults)
	require.NotContains(t, made.Annotations, ident.AnnotationMirrorLimits)
	assignment.RunSpec = &task.RunSpec{DefaultSettings: &task.DefaultSettings{}}
	require.Nil(t, taskactions.FromAssignment(assignment, "ns").Spec.Defaults)
}
