package settings

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/accelerator"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Apply completes a run spec from settings. Values in the spec win, with one exception: of two maxima for a resource
// the smaller applies, since maxima are bounds and not defaults.
func Apply(spec *task.RunSpec, resolved *settings.Settings) {
	run, resources := resolved.GetRun(), resolved.GetTaskResource()
	fill(&spec.Queue, valueOf(run.GetDefaultQueue()))
	fill(&spec.RunBaseDir, valueOf(run.GetRunBaseDir()))
	if limit := run.GetMaxActionConcurrency(); spec.GetMaxActionConcurrency() == 0 && isValue(limit.GetState()) {
		spec.MaxActionConcurrency = uint32(max(limit.GetIntValue(), 0)) //nolint:gosec // at most 2^30
	}
	if prefix := valueOf(resolved.GetStorage().GetRawDataPath()); prefix != "" && spec.GetRawDataStorage().GetRawDataPrefix() == "" {
		spec.RawDataStorage = &task.RawDataStorage{RawDataPrefix: prefix}
	}
	if below := entriesIn(resolved.GetLabels()); len(below) > 0 {
		spec.Labels = &task.Labels{Values: over(below, spec.GetLabels().GetValues())}
	}
	below := entriesIn(resolved.GetAnnotations())
	if mirror := resources.GetMirrorLimitsRequest(); isValue(mirror.GetState()) && mirror.GetBoolValue() {
		below = over(below, map[string]string{ident.AnnotationMirrorLimits: "true"})
	}
	if len(below) > 0 {
		spec.Annotations = &task.Annotations{Values: over(below, spec.GetAnnotations().GetValues())}
	}
	applyAccount(spec, valueOf(resolved.GetSecurity().GetServiceAccount()))
	applyEnvironment(spec, entriesIn(resolved.GetEnvironmentVariables()))
	applyDefaults(spec, valueOf(resolved.GetPodTemplateName()), resources)
}

// applyAccount also notes the account that settings name, since pods may run as that one even where the run or a task names
// it. A note in the request is removed.
func applyAccount(spec *task.RunSpec, account string) {
	delete(spec.GetAnnotations().GetValues(), ident.AnnotationServiceAccount)
	if account == "" {
		return
	}
	spec.Annotations = &task.Annotations{Values: over(spec.GetAnnotations().GetValues(), map[string]string{ident.AnnotationServiceAccount: account})}
	if spec.GetSecurityContext() == nil {
		spec.SecurityContext = &core.SecurityContext{}
	}
	if spec.GetSecurityContext().GetRunAs() == nil {
		spec.SecurityContext.RunAs = &core.Identity{}
	}
	fill(&spec.SecurityContext.RunAs.K8SServiceAccount, account)
}

// applyEnvironment puts the variables of the settings before those of the run, by name.
func applyEnvironment(spec *task.RunSpec, below map[string]string) {
	for _, pair := range spec.GetEnvs().GetValues() {
		delete(below, pair.GetKey())
	}
	if len(below) == 0 {
		return
	}
	var values []*core.KeyValuePair
	for _, name := range slices.Sorted(maps.Keys(below)) {
		values = append(values, &core.KeyValuePair{Key: name, Value: below[name]})
	}
	spec.Envs = &task.Envs{Values: append(values, spec.GetEnvs().GetValues()...)}
}

// applyDefaults completes what the run says of resources: requests of tasks that declare none, maxima, and the
// accelerator.
func applyDefaults(spec *task.RunSpec, podTemplate string, from *settings.TaskResourceSettings) {
	result := proto.CloneOf(spec.GetDefaultSettings())
	if result == nil {
		result = &task.DefaultSettings{}
	}
	fill(&result.PodTemplateName, podTemplate)
	defaults := result.GetTaskResourceDefaults()
	if defaults == nil {
		defaults = &task.TaskResourceDefaults{}
	}
	for _, least := range resources(from.GetMin()) {
		if isValue(least.setting.GetState()) && entryOf(defaults.GetRequests(), least.kind) == nil {
			defaults.Requests = append(defaults.Requests, entry(least))
		}
	}
	for _, most := range resources(from.GetMax()) {
		if !isValue(most.setting.GetState()) {
			continue
		}
		if own := entryOf(defaults.GetMax(), most.kind); own == nil {
			defaults.Max = append(defaults.Max, entry(most))
		} else if Exceeds(own.GetValue(), most.setting.GetQuantityValue()) {
			own.Value = most.setting.GetQuantityValue()
		}
	}
	if given := from.GetDefaultAccelerator(); isValue(given.GetState()) && defaults.GetDefaultAccelerator() == nil {
		defaults.DefaultAccelerator = proto.CloneOf(given.GetAcceleratorValue())
		defaults.DefaultAccelerator.Device = accelerator.Name(given.GetAcceleratorValue())
	}
	if proto.Size(defaults) > 0 {
		result.TaskResourceDefaults = defaults
	}
	if proto.Size(result) > 0 {
		spec.DefaultSettings = result
	}
}

// entryOf returns the entry of a resource; disk space has two names.
func entryOf(entries []*core.Resources_ResourceEntry, kind core.Resources_ResourceName) *core.Resources_ResourceEntry {
	for _, entry := range entries {
		name := entry.GetName()
		if name == core.Resources_STORAGE {
			name = core.Resources_EPHEMERAL_STORAGE
		}
		if name == kind {
			return entry
		}
	}
	return nil
}

func entry(of namedSetting) *core.Resources_ResourceEntry {
	return &core.Resources_ResourceEntry{Name: of.kind, Value: of.setting.GetQuantityValue()}
}

func fill(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func valueOf(setting *settings.StringSetting) string {
	if isValue(setting.GetState()) {
		return setting.GetStringValue()
	}
	return ""
}

// entriesIn is a copy of the entries of a setting that has a value.
func entriesIn(setting *settings.StringMapSetting) map[string]string {
	if !isValue(setting.GetState()) {
		return nil
	}
	return maps.Clone(setting.GetMapValue().GetEntries())
}

// over merges two maps; the second wins.
func over(below, above map[string]string) map[string]string {
	result := maps.Clone(below)
	if result == nil {
		result = make(map[string]string, len(above))
	}
	maps.Copy(result, above)
	return result
}
