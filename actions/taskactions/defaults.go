package taskactions

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// defaultsOf returns the run's settings for the pods of its tasks; nil when there are none.
func defaultsOf(spec *task.RunSpec) *v1.Defaults {
	given := spec.GetDefaultSettings()
	result := &v1.Defaults{
		PodTemplate:  given.GetPodTemplateName(),
		Requests:     amounts(given.GetTaskResourceDefaults().GetRequests()),
		Max:          amounts(given.GetTaskResourceDefaults().GetMax()),
		MirrorLimits: spec.GetAnnotations().GetValues()[ident.AnnotationMirrorLimits] == "true",

		ServiceAccount: spec.GetAnnotations().GetValues()[ident.AnnotationServiceAccount],
	}
	if accelerator := given.GetTaskResourceDefaults().GetDefaultAccelerator(); accelerator != nil {
		// Encoding a message that was just decoded cannot fail.
		result.Accelerator, _ = proto.MarshalOptions{Deterministic: true}.Marshal(accelerator)
	}
	if reflect.ValueOf(*result).IsZero() {
		return nil
	}
	return result
}

func amounts(entries []*core.Resources_ResourceEntry) map[string]string {
	names := map[core.Resources_ResourceName]string{
		core.Resources_CPU: "cpu", core.Resources_MEMORY: "memory", core.Resources_GPU: "gpu",
		core.Resources_STORAGE: "ephemeral-storage", core.Resources_EPHEMERAL_STORAGE: "ephemeral-storage",
	}
	var result map[string]string
	for _, entry := range entries {
		if name := names[entry.GetName()]; name != "" && entry.GetValue() != "" {
			if result == nil {
				result = map[string]string{}
			}
			result[name] = entry.GetValue()
		}
	}
	return result
}
