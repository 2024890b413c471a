package podspec

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// renderer replaces templates in commands and arguments.
type renderer struct {
	values map[string]string // by name in lower case
	inputs map[string]string // by exact name; only those that the arguments mention
}

func newRenderer(attempt *plugin.Attempt) renderer {
	spec := attempt.Task.Spec
	about := rendering.Attempt{
		Dir: attempt.Dir, PreviousDir: attempt.PreviousDir, RawDataPrefix: rawDataPrefix(attempt), InputURI: spec.InputURI,
		Run: spec.Run, Action: spec.Action, Object: objectName(attempt), Namespace: attempt.Task.Namespace,
	}
	if spec.RunStartTime != nil {
		about.RunStartTime = spec.RunStartTime.Time
	}
	return renderer{values: about.Values()}
}

// all renders every element.
func (r renderer) all(texts []string) []string {
	if texts == nil {
		return nil
	}
	values, inputs := literals(r.values), literals(r.inputs)
	result := make([]string, len(texts))
	for i, text := range texts {
		result[i] = rendering.Render(text, values, inputs)
	}
	return result
}

func literals(values map[string]string) map[string]string {
	result := make(map[string]string, len(values))
	for name, value := range values {
		result[name] = literal(value)
	}
	return result
}

// rendererFor returns a renderer with everything that the arguments of the pod refer to. Nothing else is read.
func (b *Builder) rendererFor(ctx context.Context, attempt *plugin.Attempt, spec *corev1.PodSpec) (renderer, error) {
	render, mentioned := newRenderer(attempt), mentionsOf(spec)
	var err error
	if render.inputs, err = b.inputValues(ctx, attempt, mentioned.Inputs); err != nil {
		return renderer{}, err
	}
	if mentioned.Values["prevcheckpointprefix"] {
		spec := attempt.Task.Spec
		last, err := rendering.LastCheckpoint(ctx, b.deps.Store, spec.RunOutputBase, spec.Action, uint32(attempt.Number)) //nolint:gosec // from 1
		if err != nil {
			return renderer{}, err
		}
		render.values["prevcheckpointprefix"] = last
	}
	return render, nil
}

func mentionsOf(spec *corev1.PodSpec) rendering.Mentions {
	var found rendering.Mentions
	eachContainer(spec, func(container *corev1.Container) {
		for _, text := range slices.Concat(container.Command, container.Args) {
			found.Add(text)
		}
	})
	return found
}

// rawDataPrefix is where the attempt writes files and data frames.
func rawDataPrefix(attempt *plugin.Attempt) string {
	spec := attempt.Task.Spec
	return rendering.RawDataPrefix(attempt.Dir, spec.RawDataPrefix, spec.Project, spec.Domain, spec.Run, spec.Action, uint32(attempt.Number)) //nolint:gosec // from 1
}
