package podspec

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
)

// Labels of pods in addition to those that identify the action.
const (
	labelAttempt = v1.Group + "/attempt"
	labelTask    = v1.Group + "/task"
)

// labels merges those of the configuration, the pod template, the task, the run and the platform; later ones win.
func (b *Builder) labels(attempt *plugin.Attempt, base map[string]string) map[string]string {
	result := maps.Clone(b.config.DefaultLabels)
	if result == nil {
		result = map[string]string{}
	}
	for _, given := range []map[string]string{
		base,
		attempt.Template.GetMetadata().GetMetadata().GetLabels(),
		attempt.Template.GetK8SPod().GetMetadata().GetLabels(),
	} {
		for name, value := range given {
			if len(validation.IsQualifiedName(name)) == 0 && len(validation.IsValidLabelValue(value)) == 0 {
				result[name] = value
			}
		}
	}
	// Those of the TaskAction are valid. They include the labels of the run and those that identify the action.
	maps.Copy(result, attempt.Task.Labels)
	result[labelAttempt] = strconv.Itoa(int(attempt.Number))
	result[labelTask] = v1.LabelValue(attempt.Task.Spec.ShortName)
	return result
}

func (b *Builder) annotations(attempt *plugin.Attempt, base map[string]string) map[string]string {
	result := maps.Clone(b.config.DefaultAnnotations)
	if result == nil {
		result = map[string]string{}
	}
	for _, given := range []map[string]string{
		base,
		attempt.Template.GetMetadata().GetMetadata().GetAnnotations(),
		attempt.Template.GetK8SPod().GetMetadata().GetAnnotations(),
	} {
		for name, value := range given {
			if len(validation.IsQualifiedName(name)) == 0 {
				result[name] = value
			}
		}
	}
	maps.Copy(result, attempt.Task.Annotations)
	return result
}
