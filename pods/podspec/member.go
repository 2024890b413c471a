package podspec

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Labels of pods that another controller creates for an attempt.
const (
	// LabelTaskAction names the TaskAction, which does not own such a pod directly.
	LabelTaskAction = v1.Group + "/task-action"
	// LabelRole names the role of the pod; pods of an attempt with one role do not have it.
	LabelRole = v1.Group + "/role"
	// LabelAttempt is the number of the attempt, from 1.
	LabelAttempt = labelAttempt
)

// Role is one kind of pod of an attempt, such as its head or its workers.
type Role struct {
	// Name tells the roles of an attempt apart: a DNS label. Empty for an attempt that has one role.
	Name string
	// Template has the container or the pod of the role; nil means that of the attempt.
	Template *core.TaskTemplate
	// OwnFiles gives each pod of the role a directory for its outputs and its error document, so that they do not replace those of the
	// pod that writes the outputs of the attempt: blobpath.Member.
	OwnFiles bool
}

// Of returns the attempt as the pods of the role see it.
func (r Role) Of(attempt *plugin.Attempt) *plugin.Attempt {
	if r.Template == nil {
		return attempt
	}
	result := *attempt
	result.Template = r.Template
	return &result
}

// BuildMember is Build for the pods of a role, which another controller creates from the template: pods/members finds them
// by its labels. Each role has Secrets of its own.
func (b *Builder) BuildMember(ctx context.Context, attempt *plugin.Attempt, role Role) (*corev1.PodTemplateSpec, error) {
	labels := map[string]string{LabelTaskAction: attempt.Task.Name}
	if role.Name != "" {
		labels[LabelRole] = role.Name
	}
	return b.build(ctx, role.Of(attempt), role, labels)
}

// memberVariable is the variable with the name of the pod, for pods that have a directory of their own.
const memberVariable = "FLYTE_MEMBER"

// memberEnv returns the variables that the directory of a pod is made of.
func memberEnv() []corev1.EnvVar {
	return []corev1.EnvVar{{Name: memberVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
	}}}
}

// memberDir is the directory of a pod, in the words of Kubernetes: it replaces the reference to the variable with the pod's name.
func memberDir(attemptDir string) string {
	return blobpath.Member(literal(attemptDir), "$("+memberVariable+")")
}

// HasOwnFiles reports whether a pod of a role was built with OwnFiles.
func HasOwnFiles(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		if slices.ContainsFunc(pod.Spec.Containers[i].Env, func(v corev1.EnvVar) bool { return v.Name == memberVariable }) {
			return true
		}
	}
	return false
}
