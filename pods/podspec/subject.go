package podspec

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Subject is what a pod is built for: an attempt of a task, or a revision of an app.
type Subject struct {
	// Declared is what its author declares. What does not describe a pod is not read.
	Declared *core.TaskTemplate
	// Primary is the name of the container that does the work. A declared pod must have it.
	Primary string
	// Namespace is where the pod runs.
	Namespace string
	// Secrets is the name of the Kubernetes Secret with the secrets that it asks for.
	Secrets string
	// Labels and Annotations win over all others. They are valid.
	Labels, Annotations map[string]string
	// Env are variables for the declared containers; they win over declared ones.
	Env []corev1.EnvVar
	// Platform are variables for all containers; they win over all others.
	Platform []corev1.EnvVar
	// Values replace the templates of these names, in lower case, in commands and arguments.
	Values map[string]string
	// ServiceAccount wins over that of the declared pod; may be empty.
	ServiceAccount string
	// Defaults hold where nothing is declared, and bound what is; nil for those of the installation.
	Defaults *v1.Defaults
	// Interruptible puts the pod on preemptible nodes.
	Interruptible bool
}

// subjectOf returns what the pod of an attempt is built from.
func (b *Builder) subjectOf(attempt *plugin.Attempt, about *attempts.Attempt, role string) *Subject {
	labels := maps.Clone(attempt.Task.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelAttempt] = strconv.Itoa(int(attempt.Number))
	labels[labelTask] = v1.LabelValue(attempt.Task.Spec.ShortName)
	subject := &Subject{
		Declared: attempt.Template, Primary: PrimaryName(attempt.Template), Namespace: attempt.Task.Namespace,
		Secrets: attemptsecret.Name(attempt, role), Labels: labels, Annotations: attempt.Task.Annotations, Platform: b.platformEnv(about),
		ServiceAccount: attempt.Task.Spec.ServiceAccount, Defaults: attempt.Task.Spec.Defaults, Interruptible: b.interruptible(attempt),
	}
	for _, variable := range about.RunEnvironment() {
		subject.Env = append(subject.Env, Variable(variable.Name, variable.Value))
	}
	return subject
}
