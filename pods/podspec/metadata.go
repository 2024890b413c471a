package podspec

import (
	"maps"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// Labels of pods in addition to those that identify the action.
const (
	labelAttempt = v1.Group + "/attempt"
	labelTask    = v1.Group + "/task"
)

// labels merges those of the configuration, the pod template, the task, the run and the platform; later ones win.
func (b *Builder) labels(subject *Subject, base map[string]string) map[string]string {
	result := maps.Clone(b.config.DefaultLabels)
	if result == nil {
		result = map[string]string{}
	}
	for _, given := range []map[string]string{
		base,
		subject.Declared.GetMetadata().GetMetadata().GetLabels(),
		subject.Declared.GetK8SPod().GetMetadata().GetLabels(),
	} {
		for name, value := range given {
			if name == LabelTaskAction || name == LabelRole {
				continue // By these an attempt finds its pods.
			}
			if len(validation.IsQualifiedName(name)) == 0 && len(validation.IsValidLabelValue(value)) == 0 {
				result[name] = value
			}
		}
	}
	maps.Copy(result, subject.Labels) // the labels of the run, and those that identify the subject
	return result
}

func (b *Builder) annotations(subject *Subject, base map[string]string) map[string]string {
	result := maps.Clone(b.config.DefaultAnnotations)
	if result == nil {
		result = map[string]string{}
	}
	for _, given := range []map[string]string{
		base,
		subject.Declared.GetMetadata().GetMetadata().GetAnnotations(),
		subject.Declared.GetK8SPod().GetMetadata().GetAnnotations(),
	} {
		for name, value := range given {
			if len(validation.IsQualifiedName(name)) == 0 {
				result[name] = value
			}
		}
	}
	maps.Copy(result, subject.Annotations)
	return result
}
