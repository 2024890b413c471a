package podspec

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/rendering"
)

// BuildService returns the pod of a subject that runs until it is stopped, such as a replica of an app: a container that ends
// is started again. It writes no secrets. Errors are those of Build.
func (b *Builder) BuildService(ctx context.Context, subject *Subject) (*corev1.PodTemplateSpec, error) {
	d, err := b.draft(ctx, subject)
	if err != nil {
		return nil, err
	}
	if err := b.finish(subject, d, rendering.Values{Named: subject.Values}.Map(literal)); err != nil {
		return nil, err
	}
	d.spec.RestartPolicy = corev1.RestartPolicyAlways
	return b.template(subject, d), nil
}

// ServiceEnv returns the variables that the SDK needs in an app of a project and domain.
func (b *Builder) ServiceEnv(project, domain string) []corev1.EnvVar {
	return append([]corev1.EnvVar{
		Variable("FLYTE_INTERNAL_EXECUTION_PROJECT", project),
		Variable("FLYTE_INTERNAL_EXECUTION_DOMAIN", domain),
	}, b.installationEnv(project, domain)...)
}
