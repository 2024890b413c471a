package podpolicy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// checkEnvironment judges the Secrets that become variables of a container.
func (p *Policy) checkEnvironment(container *corev1.Container) []Violation {
	var found []Violation
	for _, source := range container.EnvFrom {
		if source.SecretRef != nil {
			found = append(found, p.checkSecret(fmt.Sprintf("container %q, envFrom,", container.Name), source.SecretRef.Name)...)
		}
	}
	for _, variable := range container.Env {
		if source := variable.ValueFrom; source != nil && source.SecretKeyRef != nil {
			found = append(found, p.checkSecret(fmt.Sprintf("container %q, env %q,", container.Name, variable.Name), source.SecretKeyRef.Name)...)
		}
	}
	return found
}

func (p *Policy) checkSecret(where, name string) []Violation {
	if matches(p.config.Secrets, name) {
		return nil
	}
	return []Violation{{
		Area: PodSpec, What: fmt.Sprintf("%s refers to the secret %q; ask for secrets by key instead", where, name),
		Allow: fmt.Sprintf("secrets: [%s]", name),
	}}
}
