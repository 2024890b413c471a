package podspec

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// aboutOf describes an attempt as all runners do.
func aboutOf(attempt *plugin.Attempt) *attempts.Attempt {
	spec := attempt.Task.Spec
	about := &attempts.Attempt{
		Action: ident.Action{Run: ident.Run{Project: spec.Project, Domain: spec.Domain, Name: spec.Run}, Name: spec.Action},
		Number: attempt.Number, Task: attempt.Template.GetId(), RunOutputBase: spec.RunOutputBase, RawDataPrefix: spec.RawDataPrefix,
		InputURI: spec.InputURI, Trace: attempt.Trace, Object: objectName(attempt), Namespace: attempt.Task.Namespace,
	}
	if spec.RunStartTime != nil {
		about.RunStartTime = spec.RunStartTime.Time
	}
	for _, variable := range spec.Env {
		about.Env = append(about.Env, attempts.Variable{Name: variable.Name, Value: variable.Value})
	}
	return about
}

// valuesFor returns the values of everything that the arguments of the pod refer to. Nothing else is read.
func (b *Builder) valuesFor(ctx context.Context, about *attempts.Attempt, spec *corev1.PodSpec) (rendering.Values, error) {
	var texts []string
	eachContainer(spec, func(container *corev1.Container) {
		texts = slices.Concat(texts, container.Command, container.Args)
	})
	return about.Arguments(ctx, b.deps.Store, texts...)
}

// renderAll renders every element.
func renderAll(texts []string, values rendering.Values) []string {
	if texts == nil {
		return nil
	}
	result := make([]string, len(texts))
	for i, text := range texts {
		result[i] = values.Render(text)
	}
	return result
}
