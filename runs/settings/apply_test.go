package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/settings"
)

func everything() *settingspb.Settings {
	return &settingspb.Settings{
		Run: &settingspb.RunSettings{
			DefaultQueue: text("gpu"), MaxActionConcurrency: &settingspb.Int64Setting{State: value, IntValue: 7}, RunBaseDir: text("s3://b/base"),
		},
		Security: &settingspb.SecuritySettings{ServiceAccount: text("tasks")},
		Storage:  &settingspb.StorageSettings{RawDataPath: text("s3://b/raw")},
		TaskResource: &settingspb.TaskResourceSettings{
			Min: resources("500m", "", "1Gi", ""), Max: resources("4", "", "", "10Gi"),
			MirrorLimitsRequest: &settingspb.BoolSetting{State: value, BoolValue: true},
			DefaultAccelerator: &settingspb.AcceleratorSetting{State: value, AcceleratorValue: &core.GPUAccelerator{
				AcceleratorModel: core.AcceleratorModel_NVIDIA_L4,
			}},
		},
		Labels: entries("team", "ml", "cost", "1"), Annotations: entries("note", "x"), EnvironmentVariables: entries("B", "2", "A", "1"),
		PodTemplateName: text("base"),
	}
}

func pairs(texts ...string) *task.Envs {
	envs := &task.Envs{}
	for i := 0; i < len(texts); i += 2 {
		envs.Values = append(envs.Values, &core.KeyValuePair{Key: texts[i], Value: texts[i+1]})
	}
	return envs
}

func amount(kind core.Resources_ResourceName, value string) *core.Resources_ResourceEntry {
	return &core.Resources_ResourceEntry{Name: kind, Value: value}
}

func TestSettingsCompleteARun(t *testing.T) {
	resolved := everything()
	spec := &task.RunSpec{}
	settings.Apply(spec, resolved)
	require.True(t, proto.Equal(everything(), resolved), "settings are shared")
	want := &task.RunSpec{
		Queue: "gpu", MaxActionConcurrency: 7, RunBaseDir: "s3://b/base",
		RawDataStorage:  &task.RawDataStorage{RawDataPrefix: "s3://b/raw"},
		SecurityContext: &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "tasks"}},
		Labels:          &task.Labels{Values: map[string]string{"team": "ml", "cost": "1"}},
		Annotations: &task.Annotations{Values: map[string]string{
			"note": "x", ident.AnnotationMirrorLimits: "true", ident.AnnotationServiceAccount: "tasks",
		}},
		Envs: pairs("A", "1", "B", "2"),
		DefaultSettings: &task.DefaultSettings{
			PodTemplateName: "base",
			TaskResourceDefaults: &task.TaskResourceDefaults{
				Requests:           []*core.Resources_ResourceEntry{amount(core.Resources_CPU, "500m"), amount(core.Resources_MEMORY, "1Gi")},
				Max:                []*core.Resources_ResourceEntry{amount(core.Resources_CPU, "4"), amount(core.Resources_EPHEMERAL_STORAGE, "10Gi")},
				DefaultAccelerator: &core.GPUAccelerator{Device: "nvidia-l4", AcceleratorModel: core.AcceleratorModel_NVIDIA_L4},
			},
		},
	}
	require.True(t, proto.Equal(want, spec), "%v", spec)
}

func TestRunSpecWinsOverSettings(t *testing.T) {
	own := &task.RunSpec{
		Queue: "mine", MaxActionConcurrency: 2, RunBaseDir: "s3://b/mine",
		RawDataStorage:  &task.RawDataStorage{RawDataPrefix: "s3://b/mine"},
		SecurityContext: &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "mine"}},
		Labels:          &task.Labels{Values: map[string]string{"team": "mine"}},
		Envs:            pairs("B", "mine", "C", "mine"),
		DefaultSettings: &task.DefaultSettings{
			PodTemplateName: "mine",
			TaskResourceDefaults: &task.TaskResourceDefaults{
				Requests:           []*core.Resources_ResourceEntry{amount(core.Resources_CPU, "1")},
				Max:                []*core.Resources_ResourceEntry{amount(core.Resources_CPU, "100"), amount(core.Resources_STORAGE, "5Gi")},
				DefaultAccelerator: &core.GPUAccelerator{Device: "mine"},
			},
		},
	}
	spec := proto.CloneOf(own)
	settings.Apply(spec, everything())
	want := proto.CloneOf(own)
	want.Labels.Values["cost"] = "1"
	want.Annotations = &task.Annotations{Values: map[string]string{
		"note": "x", ident.AnnotationMirrorLimits: "true", ident.AnnotationServiceAccount: "tasks",
	}}
	want.Envs = pairs("A", "1", "B", "mine", "C", "mine")
	defaults := want.DefaultSettings.TaskResourceDefaults
	defaults.Requests = append(defaults.Requests, amount(core.Resources_MEMORY, "1Gi"))
	defaults.Max[0].Value = "4" // a maximum is a bound
	require.True(t, proto.Equal(want, spec), "%v", spec)
}

func TestEmptySettingsChangeNothing(t *testing.T) {
	spec := &task.RunSpec{}
	settings.Apply(spec, settings.Resolve(nil))
	require.Zero(t, proto.Size(spec))
	settings.Apply(spec, &settingspb.Settings{Run: &settingspb.RunSettings{DefaultQueue: &settingspb.StringSetting{State: unset, StringValue: "x"}}})
	require.Zero(t, proto.Size(spec))
}

// The creator of a run cannot claim that settings name an account.
func TestOnlySettingsGrantAnAccount(t *testing.T) {
	claim := map[string]string{ident.AnnotationServiceAccount: "admin", "note": "mine"}
	for name, tc := range map[string]struct {
		settings *settingspb.Settings
		want     map[string]string
	}{
		"settings without an account": {settings.Resolve(nil), map[string]string{"note": "mine"}},
		"settings with an account": {
			&settingspb.Settings{
				Security: &settingspb.SecuritySettings{ServiceAccount: text("tasks")}, Annotations: entries(ident.AnnotationServiceAccount, "other"),
			},
			map[string]string{"note": "mine", ident.AnnotationServiceAccount: "tasks"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := proto.CloneOf(&task.RunSpec{Annotations: &task.Annotations{Values: claim}})
			settings.Apply(spec, tc.settings)
			require.Equal(t, tc.want, spec.GetAnnotations().GetValues())
		})
	}
}
