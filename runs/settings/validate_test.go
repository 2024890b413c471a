package settings_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/runs/settings"
)

func TestQuantity(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "1": "1", "+1": "1", "500m": "1/2", "1.5": "3/2", ".5": "1/2", "2.": "2", "4Gi": "4294967296", "1k": "1000", "1K": "",
		"1e3": "1000", "1E3": "1000", "1E": "1000000000000000000", "5e-1": "1/2", "1n": "1/1000000000", "1Ki": "1024", "1u": "1/1000000",
		"": "", "-1": "", "1 Gi": "", "Gi": "", "1e": "", "0x10": "", "1e999": "", "one": "", "1GiB": "", "1..2": "",
	} {
		amount, err := settings.Quantity(text)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		wanted, _ := new(big.Rat).SetString(want)
		require.Zero(t, amount.Cmp(wanted), "%s is %s", text, amount)
	}
}

func resources(cpu, gpu, memory, storage string) *settingspb.TaskResourceDefaults {
	result := &settingspb.TaskResourceDefaults{}
	for text, into := range map[string]**settingspb.QuantitySetting{cpu: &result.Cpu, "g" + gpu: &result.Gpu, "m" + memory: &result.Memory, "s" + storage: &result.Storage} {
		if text = strings.TrimLeft(text, "gms"); text != "" {
			*into = quantity(text)
		}
	}
	return result
}

func TestValidSettings(t *testing.T) {
	require.NoError(t, settings.Validate(&settingspb.Settings{
		Run: &settingspb.RunSettings{
			DefaultQueue: text("gpu.large_1"), MaxActionConcurrency: &settingspb.Int64Setting{State: value}, RunBaseDir: text("s3://bucket/prefix/"),
		},
		Security: &settingspb.SecuritySettings{ServiceAccount: text("ml.team-1")},
		Storage:  &settingspb.StorageSettings{RawDataPath: text("/data/raw")},
		TaskResource: &settingspb.TaskResourceSettings{
			Min: resources("500m", "1", "1Gi", "1Gi"), Max: resources("2", "8", "4Gi", ""),
			DefaultAccelerator: &settingspb.AcceleratorSetting{State: value, AcceleratorValue: &core.GPUAccelerator{AcceleratorModel: core.AcceleratorModel_NVIDIA_L4}},
		},
		Labels: entries("team", "ml", "example.com/cost", ""), Annotations: entries("example.com/x", "any thing"),
		EnvironmentVariables: entries("LOG_LEVEL", "a=b", "with.dot", ""),
		PodTemplateName:      text("base"),
		App:                  &settingspb.AppSettings{AppDnsStrategy: text("shared")},
	}))
	require.NoError(t, settings.Validate(nil))
	require.NoError(t, settings.Validate(&settingspb.Settings{PodTemplateName: &settingspb.StringSetting{State: unset, StringValue: "NOT SOUND"}}), "it has no value")
}

func TestValidateNamesTheInvalidSetting(t *testing.T) {
	run := func(r *settingspb.RunSettings) *settingspb.Settings { return &settingspb.Settings{Run: r} }
	limit := func(n int64) *settingspb.Settings {
		return run(&settingspb.RunSettings{MaxActionConcurrency: &settingspb.Int64Setting{State: value, IntValue: n}})
	}
	base := func(s string) *settingspb.Settings { return run(&settingspb.RunSettings{RunBaseDir: text(s)}) }
	least := func(r *settingspb.TaskResourceDefaults) *settingspb.Settings {
		return &settingspb.Settings{TaskResource: &settingspb.TaskResourceSettings{Min: r}}
	}
	for name, tc := range map[string]struct {
		given *settingspb.Settings
		field string
		words string
	}{
		"queue":           {run(&settingspb.RunSettings{DefaultQueue: text("a b")}), "run.default_queue", "a b"},
		"empty":           {run(&settingspb.RunSettings{DefaultQueue: text("")}), "run.default_queue", "unset"},
		"concurrency 1":   {limit(1), "run.max_action_concurrency", "1"},
		"concurrency -1":  {limit(-1), "run.max_action_concurrency", "-1"},
		"too concurrent":  {limit(1 << 40), "run.max_action_concurrency", "neither"},
		"relative":        {base("data"), "run.run_base_dir", "data"},
		"steps out":       {base("s3://b/../c"), "run.run_base_dir", ".."},
		"file root":       {base("/"), "run.run_base_dir", "absolute"},
		"query":           {base("s3://b/c?x"), "run.run_base_dir", "?"},
		"raw":             {&settingspb.Settings{Storage: &settingspb.StorageSettings{RawDataPath: text("s3:/b")}}, "", ""},
		"raw data":        {&settingspb.Settings{Storage: &settingspb.StorageSettings{RawDataPath: text("bucket/x")}}, "storage.raw_data_path", "bucket"},
		"account":         {&settingspb.Settings{Security: &settingspb.SecuritySettings{ServiceAccount: text("Mine")}}, "security.service_account", "Mine"},
		"pod template":    {&settingspb.Settings{PodTemplateName: text("a_b")}, "pod_template_name", "a_b"},
		"cpu":             {least(resources("lots", "", "", "")), "task_resource.min.cpu", "lots"},
		"half a gpu":      {least(resources("", "500m", "", "")), "task_resource.min.gpu", "whole"},
		"negative":        {least(resources("", "", "-1Gi", "")), "task_resource.min.memory", "-1Gi"},
		"too much":        {least(resources("", "", "", "100E")), "task_resource.min.storage", "more"},
		"label key":       {&settingspb.Settings{Labels: entries("a b", "c")}, "labels", "a b"},
		"label domain":    {&settingspb.Settings{Labels: entries("A_B/c", "c")}, "labels", "A_B"},
		"label value":     {&settingspb.Settings{Labels: entries("a", "c d")}, "labels", "c d"},
		"long label":      {&settingspb.Settings{Labels: entries("a", strings.Repeat("x", 64))}, "labels", "63"},
		"our label":       {&settingspb.Settings{Labels: entries("flyte.org/run", "x")}, "labels", "platform"},
		"annotation":      {&settingspb.Settings{Annotations: entries("", "x")}, "annotations", "key"},
		"variable":        {&settingspb.Settings{EnvironmentVariables: entries("1A", "x")}, "environment_variables", "1A"},
		"variable = sign": {&settingspb.Settings{EnvironmentVariables: entries("A=B", "x")}, "environment_variables", "A=B"},
		"NUL":             {&settingspb.Settings{EnvironmentVariables: entries("A", "\x00")}, "environment_variables", "NUL"},
		"accelerator": {&settingspb.Settings{TaskResource: &settingspb.TaskResourceSettings{
			DefaultAccelerator: &settingspb.AcceleratorSetting{State: value},
		}}, "task_resource.default_accelerator", "nvidia-l4"},
		"dns":   {&settingspb.Settings{App: &settingspb.AppSettings{AppDnsStrategy: text("mine")}}, "app.app_dns_strategy", "mine"},
		"state": {&settingspb.Settings{PodTemplateName: &settingspb.StringSetting{State: 7}}, "pod_template_name.state", "7"},
		"size":  {&settingspb.Settings{Annotations: entries("a", strings.Repeat("x", 65<<10))}, "", "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := settings.Validate(tc.given)
			var wrong *settings.FieldError
			require.ErrorAs(t, err, &wrong)
			if tc.field != "" {
				require.Equal(t, tc.field, wrong.Field)
			}
			require.Contains(t, wrong.Problem, tc.words)
		})
	}
}

func TestBoundsHoldOverLevels(t *testing.T) {
	org := &settingspb.Settings{TaskResource: &settingspb.TaskResourceSettings{Max: resources("2", "", "", "")}}
	project := &settingspb.Settings{TaskResource: &settingspb.TaskResourceSettings{Min: resources("2500m", "", "", "")}}
	err := settings.CheckBounds(settings.Resolve(levels(org, nil, project)))
	require.EqualError(t, err, "task_resource.min.cpu: 2500m is above task_resource.max.cpu, which is 2 (organisation level)")
	project.TaskResource.Min.Cpu.QuantityValue = "2000m"
	require.NoError(t, settings.CheckBounds(settings.Resolve(levels(org, nil, project))))
}

func TestNormalize(t *testing.T) {
	given := &settingspb.Settings{
		Run: &settingspb.RunSettings{
			DefaultQueue: &settingspb.StringSetting{State: unset, StringValue: "dropped", ScopeLevel: 1},
			RunBaseDir:   &settingspb.StringSetting{State: inherit, StringValue: "dropped"},
		},
		PodTemplateName: text("kept"),
	}
	got := settings.Normalize(given, settingspb.ScopeLevel_SCOPE_LEVEL_PROJECT)
	require.True(t, proto.Equal(&settingspb.Settings{
		Run:             &settingspb.RunSettings{DefaultQueue: &settingspb.StringSetting{State: unset, ScopeLevel: 2}},
		PodTemplateName: &settingspb.StringSetting{State: value, StringValue: "kept", ScopeLevel: 2},
	}, got), "%v", got)
}

func FuzzQuantity(f *testing.F) {
	f.Add("4Gi")
	f.Fuzz(func(t *testing.T, text string) {
		if amount, err := settings.Quantity(text); err == nil {
			require.GreaterOrEqual(t, amount.Sign(), 0)
		}
	})
}
