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
)

// Labels and annotations of pods beyond those that identify the action.
const (
	labelAttempt = v1.Group + "/attempt"
	labelTask    = v1.Group + "/task"
)

// build makes the pod of an attempt. The same attempt always gets the same pod. An error means that something that it
// depends on cannot be read now.
func (p *Plugin) build(ctx context.Context, attempt *plugin.Attempt) (*corev1.Pod, *failure.Failure, error) {
	if name := attempt.Template.GetMetadata().GetPodTemplateName(); name != "" {
		return nil, failure.New(failure.BadTaskSpecification, "pod templates of the cluster are not supported; put %q into the task", name), nil
	}
	spec, bad := p.specOf(attempt.Template)
	if bad != nil {
		return nil, bad, nil
	}
	name := v1.PodName(attempt.Task.Name, attempt.Number)
	render, bad, err := p.rendererFor(ctx, attempt, spec, name)
	if bad != nil || err != nil {
		return nil, bad, err
	}
	if bad := p.finish(attempt, spec, render); bad != nil {
		return nil, bad, nil
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       attempt.Task.Namespace,
			Name:            name,
			Labels:          p.labels(attempt),
			Annotations:     p.annotations(attempt),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(attempt.Task, v1.GroupVersion.WithKind(v1.Kind))},
		},
		Spec: *spec,
	}, nil, nil
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
func (p *Plugin) finish(attempt *plugin.Attempt, spec *corev1.PodSpec, render renderer) *failure.Failure {
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
	if account := p.serviceAccount(attempt); account != "" {
		spec.ServiceAccountName = account
	}
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
	p.place(attempt, spec)
	return p.addCopilot(attempt, spec)
}

// serviceAccount is the run's or the task's choice, else that of the pod, else the configured one.
func (p *Plugin) serviceAccount(attempt *plugin.Attempt) string {
	if account := attempt.Task.Spec.ServiceAccount; account != "" {
		return account
	}
	if own := attempt.Template.GetK8SPod().GetPodSpec().GetFields()["serviceAccountName"].GetStringValue(); own != "" {
		return own
	}
	return p.config.DefaultServiceAccount
}

func (p *Plugin) labels(attempt *plugin.Attempt) map[string]string {
	result := maps.Clone(p.config.DefaultLabels)
	if result == nil {
		result = map[string]string{}
	}
	for _, given := range []map[string]string{
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

func (p *Plugin) annotations(attempt *plugin.Attempt) map[string]string {
	result := maps.Clone(p.config.DefaultAnnotations)
	if result == nil {
		result = map[string]string{}
	}
	for _, given := range []map[string]string{
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
