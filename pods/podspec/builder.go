package podspec

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podpolicy"
)

// Deps are what a Builder needs.
type Deps struct {
	// Live reads PodTemplates from the API server.
	Live client.Reader
	// Store reads what arguments refer to: inputs and earlier checkpoints.
	Store plugin.Store
	// Secrets writes what pods refer to; nil writes nothing.
	Secrets Secrets
	// Clock tells the time.
	Clock clock.Clock
}

// Secrets makes the secrets that a pod refers to exist; attemptsecret.Keeper does.
type Secrets interface {
	Prepare(ctx context.Context, attempt *plugin.Attempt, role string, pod *corev1.PodTemplateSpec) error
}

// Builder builds pod templates. It is safe for concurrent use.
type Builder struct {
	config    Config
	deps      Deps
	policy    *podpolicy.Policy
	templates templates
}

// New returns a builder. It refuses a configuration that is not valid.
func New(config Config, deps Deps) (*Builder, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Builder{config: config, deps: deps, policy: podpolicy.New(config.Policy)}, nil
}

// Build returns the pod of an attempt as a template with labels and annotations, without name and owner, and makes the
// secrets that it refers to exist. The same attempt always gets the same template. What the task declares must keep the policy (executor.pod.policy). A *failure.Failure in the error's chain means that the task cannot be run as it is
// specified; any other error means that something it depends on cannot be read now.
//
// A plugin whose attempts have several pods, or whose pods another controller creates, calls BuildMember once for each role.
func (b *Builder) Build(ctx context.Context, attempt *plugin.Attempt) (*corev1.PodTemplateSpec, error) {
	return b.build(ctx, attempt, Role{}, nil)
}

// build returns the pod of a role with what every attempt gets, and with labels that win over all others.
func (b *Builder) build(ctx context.Context, attempt *plugin.Attempt, role Role, labels map[string]string) (*corev1.PodTemplateSpec, error) {
	about := aboutOf(attempt)
	subject := b.subjectOf(attempt, about, role.Name)
	if role.OwnFiles {
		subject.Platform = append(subject.Platform, memberEnv()...)
	}
	maps.Copy(subject.Labels, labels)
	d, err := b.draft(ctx, subject)
	if err != nil {
		return nil, err
	}
	values, err := b.valuesFor(ctx, about, d.spec)
	if err != nil {
		return nil, err
	}
	values = values.Map(literal) // they arrive in the process as they are
	if role.OwnFiles {
		values.Named["outputprefix"] = memberDir(about.Dir())
	}
	if err := b.finish(subject, d, values); err != nil {
		return nil, err
	}
	d.spec.RestartPolicy = corev1.RestartPolicyNever
	if err := b.addCopilot(attempt, d.spec); err != nil {
		return nil, err
	}
	pod := b.template(subject, d)
	if b.deps.Secrets == nil {
		return pod, nil
	}
	// It comes last: nothing is written for a task that cannot run.
	return pod, b.deps.Secrets.Prepare(ctx, attempt, role.Name, pod)
}

// template puts a finished draft into a template.
func (b *Builder) template(subject *Subject, d *draft) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      b.labels(subject, d.base.Labels),
			Annotations: b.annotations(subject, d.base.Annotations),
		},
		Spec: *d.spec,
	}
}

// draft is a pod under construction.
type draft struct {
	spec        *corev1.PodSpec
	own         []string             // names of the containers that the task brings
	base        metav1.ObjectMeta    // of the pod template
	accelerator *core.GPUAccelerator // nil when the pod needs none
}

// eachOwn visits the containers that the task brings. The others belong to the operator: nothing that the task or the run
// asks for may change what they do.
func (d *draft) eachOwn(do func(*corev1.Container)) {
	eachContainer(d.spec, func(container *corev1.Container) {
		if slices.Contains(d.own, container.Name) {
			do(container)
		}
	})
}

// draft returns what the task asks for, merged with its pod template, with resources.
func (b *Builder) draft(ctx context.Context, subject *Subject) (*draft, error) {
	spec, err := specOf(subject.Declared, subject.Primary)
	if err != nil {
		return nil, err
	}
	if err := b.checkPolicy(subject, spec); err != nil {
		return nil, err
	}
	d := &draft{spec: spec, own: containerNames(spec)}
	base, err := b.podTemplate(ctx, subject)
	if err != nil {
		return nil, err
	}
	if base != nil {
		if err := b.checkTemplateUse(&base.Spec, spec); err != nil {
			return nil, err
		}
		d.base = base.ObjectMeta
		if d.spec, err = mergeTemplate(&base.Spec, spec, subject.Primary); err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "the task's pod and its pod template cannot be merged: %v", err)
		}
	}
	if err := b.settleResources(subject, d); err != nil {
		return nil, err
	}
	return d, nil
}

// finish adds what every pod gets. The values are as Kubernetes reads them: literal.
func (b *Builder) finish(subject *Subject, d *draft, values rendering.Values) error {
	spec := d.spec
	primary := find(spec, subject.Primary)
	if dataConfig(subject.Declared) != nil {
		primary.Command, primary.Args = verbatim(primary.Command), verbatim(primary.Args)
	}
	eachContainer(spec, func(container *corev1.Container) {
		container.Command, container.Args = renderAll(container.Command, values), renderAll(container.Args, values)
		container.Env = b.environment(subject, container.Env, slices.Contains(d.own, container.Name))
		container.EnvFrom = append(b.environmentFrom(), container.EnvFrom...)
		if container.ImagePullPolicy == "" {
			container.ImagePullPolicy = corev1.PullPolicy(b.config.ImagePullPolicy)
		}
		container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	})
	serviceLinks := false
	spec.EnableServiceLinks = &serviceLinks
	// The choice of the run or the task wins over that of the pod or its template, and that over the configured one.
	asked := subject.ServiceAccount != "" || spec.ServiceAccountName != ""
	if account := subject.ServiceAccount; account != "" {
		spec.ServiceAccountName = account
	} else if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = b.config.DefaultServiceAccount
	}
	spec.DeprecatedServiceAccount = ""
	// A process that does not use the Kubernetes API must not be able to. Who names a service account wants what it may do.
	if spec.AutomountServiceAccountToken == nil && !asked && !b.config.ServiceAccountToken {
		spec.AutomountServiceAccountToken = new(bool)
	}
	if b.config.TerminationGracePeriod > 0 && spec.TerminationGracePeriodSeconds == nil {
		seconds := int64(b.config.TerminationGracePeriod / time.Second)
		spec.TerminationGracePeriodSeconds = &seconds
	}
	if err := shareMemory(subject.Declared.GetExtendedResources().GetSharedMemory(), spec, primary); err != nil {
		return err
	}
	if err := b.injectSecrets(subject, d); err != nil {
		return err
	}
	b.place(subject, d.accelerator, spec)
	return nil
}

// objectName is the name by which templates tell attempts apart: that of the pod of a plugin with one pod per attempt.
func objectName(attempt *plugin.Attempt) string { return v1.PodName(attempt.Task.Name, attempt.Number) }
