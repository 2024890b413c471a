package settings

import (
	"fmt"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// resources are the resources of a group of defaults, in the order of the contract.
func resources(of *settings.TaskResourceDefaults) []namedSetting {
	return []namedSetting{
		{"cpu", core.Resources_CPU, of.GetCpu()},
		{"gpu", core.Resources_GPU, of.GetGpu()},
		{"memory", core.Resources_MEMORY, of.GetMemory()},
		{"storage", core.Resources_EPHEMERAL_STORAGE, of.GetStorage()},
	}
}

type namedSetting struct {
	name    string
	kind    core.Resources_ResourceName
	setting *settings.QuantitySetting
}

// CheckBounds returns a FieldError when a minimum of the resolved settings is above its maximum.
func CheckBounds(resolved *settings.Settings) error {
	least, most := resources(resolved.GetTaskResource().GetMin()), resources(resolved.GetTaskResource().GetMax())
	for i := range least {
		low, high := least[i].setting, most[i].setting
		if !isValue(low.GetState()) || !isValue(high.GetState()) || !Exceeds(low.GetQuantityValue(), high.GetQuantityValue()) {
			continue
		}
		return &FieldError{"task_resource.min." + least[i].name, fmt.Sprintf("%s is above task_resource.max.%s, which is %s (%s level)",
			low.GetQuantityValue(), most[i].name, high.GetQuantityValue(), levelName(high.GetScopeLevel()))}
	}
	return nil
}

// Exceeds reports whether one quantity is larger than another. An invalid quantity exceeds nothing.
func Exceeds(text, bound string) bool {
	amount, err := Quantity(text)
	if err != nil {
		return false
	}
	limit, err := Quantity(bound)
	return err == nil && amount.Cmp(limit) > 0
}

func isValue(state settings.SettingState) bool {
	return state == settings.SettingState_SETTING_STATE_VALUE
}

func levelName(scope settings.ScopeLevel) string {
	return [...]string{"organisation", "domain", "project"}[min(max(scope, 0), settings.ScopeLevel_SCOPE_LEVEL_PROJECT)]
}

// CheckDefaults returns a FieldError for the first invalid amount among the defaults and maxima of a run spec.
func CheckDefaults(given *task.DefaultSettings) error {
	if name := given.GetPodTemplateName(); name != "" {
		if problem := checkString("pod_template_name", name); problem != "" {
			return &FieldError{"pod_template_name", problem}
		}
	}
	for _, group := range []struct {
		name    string
		entries []*core.Resources_ResourceEntry
	}{
		{"requests", given.GetTaskResourceDefaults().GetRequests()}, {"max", given.GetTaskResourceDefaults().GetMax()},
	} {
		for i, entry := range group.entries {
			if _, err := Quantity(entry.GetValue()); err != nil {
				return &FieldError{fmt.Sprintf("task_resource_defaults.%s[%d].value", group.name, i), err.Error()}
			}
		}
	}
	return nil
}
