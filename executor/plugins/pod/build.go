package pod

import (
	"context"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Labels and annotations of pods beyond those that identify the action.
const (
	labelAttempt = v1.Group + "/attempt"
	labelTask    = v1.Group + "/task"
)

// build makes the pod of an attempt. The same attempt always gets the same pod. An error means that something that it
// depends on cannot be read now.
func (p *Plugin) build(ctx context.Context, attempt *plugin.Attempt) (*corev1.Pod, *failure.Failure, error) {
	d, bad, err := p.draft(ctx, attempt)
	if bad != nil || err != nil {
		return nil, bad, err
	}
	name := v1.PodName(attempt.Task.Name, attempt.Number)
	render, bad, err := p.rendererFor(ctx, attempt, d.spec, name)
	if bad != nil || err != nil {
		return nil, bad, err
	}
	if bad := p.finish(attempt, d, render); bad != nil {
		return nil, bad, nil
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       attempt.Task.Namespace,
			Name:            name,
			Labels:          p.labels(attempt, d.base.Labels),
			Annotations:     p.annotations(attempt, d.base.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(attempt.Task, v1.GroupVersion.WithKind(v1.Kind))},
		},
		Spec: *d.spec,
	}, nil, nil
}

// draft is a pod in the making.
type draft struct {
	spec        *corev1.PodSpec
	own         []string             // the containers that the task brings
	base        metav1.ObjectMeta    // of the pod template
	accelerator *core.GPUAccelerator // nil when it needs none
}

// draft is what the task asks for, on top of its pod template, with resources.
func (p *Plugin) draft(ctx context.Context, attempt *plugin.Attempt) (*draft, *failure.Failure, error) {
	spec, bad := specOf(attempt.Template)
	if bad != nil {
		return nil, bad, nil
	}
	d := &draft{spec: spec, own: containerNames(spec)}
	base, bad, err := p.podTemplate(ctx, attempt)
	if bad != nil || err != nil {
		return nil, bad, err
	}
	if base != nil {
		d.base = base.ObjectMeta
		if d.spec, err = mergeTemplate(&base.Spec, spec, PrimaryName(attempt.Template)); err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "the task's pod and its pod template do not go together: %v", err), nil
		}
	}
	return d, p.settleResources(attempt, d), nil
}

// rendererFor has everything that the arguments of the pod refer to; what none refers to is not looked for.
func (p *Plugin) rendererFor(
	ctx context.Context, attempt *plugin.Attempt, spec *corev1.PodSpec, podName string,
) (renderer, *failure.Failure, error) {
	render, mentioned := newRenderer(attempt, podName), mentionsOf(spec)
	var bad *failure.Failure
	var err error
	if render.inputs, bad, err = p.inputValues(ctx, attempt, mentioned.inputs); bad != nil || err != nil {
		return renderer{}, bad, err
	}
	if mentioned.values["prevcheckpointprefix"] {
		if render.values["prevcheckpointprefix"], err = p.lastCheckpoint(ctx, attempt); err != nil {
			return renderer{}, nil, err
		}
	}
	return render, nil, nil
}

// finish adds what every pod of ours has.
func (p *Plugin) finish(attempt *plugin.Attempt, d *draft, render renderer) *failure.Failure {
	spec := d.spec
	if primary := find(spec, PrimaryName(attempt.Template)); dataConfig(attempt.Template) != nil {
		primary.Command, primary.Args = verbatim(primary.Command), verbatim(primary.Args)
	}
	eachContainer(spec, func(container *corev1.Container) {
		container.Command, container.Args = render.all(container.Command), render.all(container.Args)
		container.Env = p.environment(attempt, container.Env)
		container.EnvFrom = append(p.environmentFrom(), container.EnvFrom...)
		if container.ImagePullPolicy == "" {
			container.ImagePullPolicy = corev1.PullPolicy(p.config.ImagePullPolicy)
		}
		container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	})
	spec.RestartPolicy = corev1.RestartPolicyNever
	serviceLinks := false
	spec.EnableServiceLinks = &serviceLinks
	// The run's or the task's choice, else that of the pod or its template, else the configured one.
	if account := attempt.Task.Spec.ServiceAccount; account != "" {
		spec.ServiceAccountName = account
	} else if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = p.config.DefaultServiceAccount
	}
	spec.DeprecatedServiceAccount = ""
	if p.config.TerminationGracePeriod > 0 && spec.TerminationGracePeriodSeconds == nil {
		seconds := int64(p.config.TerminationGracePeriod / time.Second)
		spec.TerminationGracePeriodSeconds = &seconds
	}
	primary := find(spec, PrimaryName(attempt.Template))
	if bad := shareMemory(attempt.Template.GetExtendedResources().GetSharedMemory(), spec, primary); bad != nil {
		return bad
	}
	if bad := p.injectSecrets(attempt.Template.GetSecurityContext().GetSecrets(), spec); bad != nil {
		return bad
	}
	p.place(attempt, d.accelerator, spec)
	return p.addCopilot(attempt, spec)
}

func (p *Plugin) labels(attempt *plugin.Attempt, base map[string]string) map[string]string {
	result := maps.Clone(p.config.DefaultLabels)
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
	// Those of the TaskAction are checked; they include the labels of the run and those that identify the action.
	maps.Copy(result, attempt.Task.Labels)
	result[labelAttempt] = strconv.Itoa(int(attempt.Number))
	result[labelTask] = v1.LabelValue(attempt.Task.Spec.ShortName)
	return result
}

func (p *Plugin) annotations(attempt *plugin.Attempt, base map[string]string) map[string]string {
	result := maps.Clone(p.config.DefaultAnnotations)
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
