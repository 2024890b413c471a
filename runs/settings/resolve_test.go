package settings_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/runs/settings"
)

const (
	inherit = settingspb.SettingState_SETTING_STATE_INHERIT
	unset   = settingspb.SettingState_SETTING_STATE_UNSET
	value   = settingspb.SettingState_SETTING_STATE_VALUE
)

func text(v string) *settingspb.StringSetting {
	return &settingspb.StringSetting{State: value, StringValue: v}
}

func entries(pairs ...string) *settingspb.StringMapSetting {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return &settingspb.StringMapSetting{State: value, MapValue: &settingspb.StringMap{Entries: m}}
}

func quantity(v string) *settingspb.QuantitySetting {
	return &settingspb.QuantitySetting{State: value, QuantityValue: v}
}

func levels(given ...*settingspb.Settings) []settings.Level {
	var result []settings.Level
	for i, one := range given {
		result = append(result, settings.Level{Scope: settingspb.ScopeLevel(i), Settings: one})
	}
	return result
}

func TestResolve(t *testing.T) {
	org := &settingspb.Settings{
		Run:                  &settingspb.RunSettings{DefaultQueue: text("wide"), MaxActionConcurrency: &settingspb.Int64Setting{State: value, IntValue: 50}},
		Security:             &settingspb.SecuritySettings{ServiceAccount: text("org-account")},
		Labels:               entries("team", "org", "cost", "1"),
		EnvironmentVariables: entries("A", "org"),
	}
	domain := &settingspb.Settings{
		Run:                  &settingspb.RunSettings{DefaultQueue: &settingspb.StringSetting{State: unset}},
		Labels:               entries("team", "domain"),
		EnvironmentVariables: &settingspb.StringMapSetting{State: unset},
	}
	project := &settingspb.Settings{
		Security:             &settingspb.SecuritySettings{ServiceAccount: &settingspb.StringSetting{State: inherit, StringValue: "ignored"}},
		Labels:               entries("own", "p"),
		EnvironmentVariables: entries("B", "project"),
	}
	before := proto.CloneOf(org)
	got := settings.Resolve(levels(org, domain, project))
	require.True(t, proto.Equal(before, org), "the input is not changed")
	queue := &settingspb.StringSetting{State: unset, ScopeLevel: settingspb.ScopeLevel_SCOPE_LEVEL_DOMAIN}
	require.True(t, proto.Equal(queue, got.GetRun().GetDefaultQueue()))
	require.Equal(t, int64(50), got.GetRun().GetMaxActionConcurrency().GetIntValue())
	require.Equal(t, "org-account", got.GetSecurity().GetServiceAccount().GetStringValue())
	require.Equal(t, settingspb.ScopeLevel_SCOPE_LEVEL_ORG, got.GetSecurity().GetServiceAccount().GetScopeLevel())
	require.Equal(t, map[string]string{"team": "domain", "cost": "1", "own": "p"}, got.GetLabels().GetMapValue().GetEntries())
	require.Equal(t, settingspb.ScopeLevel_SCOPE_LEVEL_PROJECT, got.GetLabels().GetScopeLevel())
	require.Equal(t, map[string]string{"B": "project"}, got.GetEnvironmentVariables().GetMapValue().GetEntries(), "unset drops what is broader")
	require.Nil(t, got.GetStorage())
	require.True(t, proto.Equal(&settingspb.Settings{}, settings.Resolve(nil)))
}

// TestResolutionAgainstAModel compares with a naive model: start at the narrowest level and go up to the first that
// mentions the setting; a map collects entries on the way until a level unsets it.
func TestResolutionAgainstAModel(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 3).Draw(t, "levels")
		given := make([]*settingspb.Settings, count)
		state := rapid.SampledFrom([]settingspb.SettingState{inherit, unset, value})
		for i := range given {
			if rapid.Bool().Draw(t, "absent") {
				continue
			}
			given[i] = &settingspb.Settings{
				PodTemplateName: &settingspb.StringSetting{State: state.Draw(t, "state"), StringValue: rapid.StringN(0, 3, 3).Draw(t, "name")},
				TaskResource: &settingspb.TaskResourceSettings{MirrorLimitsRequest: &settingspb.BoolSetting{
					State: state.Draw(t, "mirror"), BoolValue: rapid.Bool().Draw(t, "on"),
				}},
				Labels: &settingspb.StringMapSetting{State: state.Draw(t, "labels"), MapValue: &settingspb.StringMap{
					Entries: rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}), 0, 3).Draw(t, "entries"),
				}},
			}
		}
		got := settings.Resolve(levels(given...))

		wantName, wantMirror := (*settingspb.StringSetting)(nil), (*settingspb.BoolSetting)(nil)
		for i := count - 1; i >= 0; i-- {
			scope := settingspb.ScopeLevel(i)
			if name := given[i].GetPodTemplateName(); wantName == nil && name.GetState() != inherit {
				wantName = &settingspb.StringSetting{State: name.GetState(), ScopeLevel: scope}
				if name.GetState() == value {
					wantName.StringValue = name.GetStringValue()
				}
			}
			if mirror := given[i].GetTaskResource().GetMirrorLimitsRequest(); wantMirror == nil && mirror.GetState() != inherit {
				wantMirror = &settingspb.BoolSetting{State: mirror.GetState(), ScopeLevel: scope, BoolValue: mirror.GetBoolValue() && mirror.GetState() == value}
			}
		}
		require.True(t, proto.Equal(wantName, got.GetPodTemplateName()), "%v", got)
		require.True(t, proto.Equal(wantMirror, got.GetTaskResource().GetMirrorLimitsRequest()), "%v", got)

		var wantLabels map[string]string
		decided := inherit
		for i := count - 1; i >= 0; i-- {
			labels := given[i].GetLabels()
			if labels.GetState() == inherit {
				continue
			}
			if decided == inherit {
				decided = labels.GetState()
				require.Equal(t, settingspb.ScopeLevel(i), got.GetLabels().GetScopeLevel())
			}
			if labels.GetState() == unset {
				break
			}
			merged := maps.Clone(labels.GetMapValue().GetEntries())
			if merged == nil {
				merged = map[string]string{}
			}
			maps.Copy(merged, wantLabels)
			wantLabels = merged
		}
		require.Equal(t, decided, got.GetLabels().GetState())
		require.Len(t, got.GetLabels().GetMapValue().GetEntries(), len(wantLabels))
		for name, want := range wantLabels {
			require.Equal(t, want, got.GetLabels().GetMapValue().GetEntries()[name])
		}
	})
}
