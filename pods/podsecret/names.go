package podsecret

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Names returns the names of the Secrets from which the containers of a pod get values, as variables or as files, sorted.
// Credentials of registries are not among them: containers do not get those.
func Names(spec *corev1.PodSpec) []string {
	var names []string
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			names = append(names, ofContainer(&containers[i])...)
		}
	}
	for i := range spec.Volumes {
		names = append(names, ofVolume(&spec.Volumes[i])...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func ofContainer(container *corev1.Container) []string {
	var names []string
	for _, from := range container.EnvFrom {
		if from.SecretRef != nil {
			names = append(names, from.SecretRef.Name)
		}
	}
	for _, variable := range container.Env {
		if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
			names = append(names, variable.ValueFrom.SecretKeyRef.Name)
		}
	}
	return names
}

func ofVolume(volume *corev1.Volume) []string {
	var names []string
	if volume.Secret != nil {
		names = append(names, volume.Secret.SecretName)
	}
	if volume.Projected != nil {
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	return names
}

// Keep returns volumes that name the same Secrets as a pod does, and nothing else of it: what is left of it in a cache must
// still say what it was given.
func Keep(spec *corev1.PodSpec) []corev1.Volume {
	var volumes []corev1.Volume
	for _, name := range Names(spec) {
		volumes = append(volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}})
	}
	return volumes
}
