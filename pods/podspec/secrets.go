package podspec

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
)

// secretsDir is where the SDK looks for secrets as files: KEY, or GROUP/KEY.
const secretsDir = "/etc/flyte/secrets"

// secretsVolume is the volume behind secretsDir.
const secretsVolume = "flyte-secrets"

// injectSecrets gives the task's containers references to the secrets that it asks for, which are in its Kubernetes
// Secret. Values never appear in a pod.
func (b *Builder) injectSecrets(subject *Subject, d *draft) error {
	asked, err := attemptsecret.WantedBy(subject.Declared)
	if err != nil {
		return err
	}
	reference := corev1.LocalObjectReference{Name: subject.Secrets}
	var variables []corev1.EnvVar
	var files []corev1.KeyToPath
	for _, one := range asked {
		variable := corev1.EnvVar{Name: one.Variable}
		if one.File != "" {
			if file := (corev1.KeyToPath{Key: one.Name, Path: one.File}); !slices.Contains(files, file) {
				files = append(files, file)
			}
			variable.Value = path.Join(secretsDir, one.File)
		} else {
			variable.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference, Key: one.Name}}
		}
		if one.Variable != "" {
			variables = append(variables, variable)
		}
	}
	d.eachOwn(func(container *corev1.Container) {
		for _, variable := range variables {
			container.Env = merge(container.Env, []corev1.EnvVar{variable})
		}
	})
	if len(files) > 0 {
		mountSecrets(d, reference, files)
	}
	return nil
}

// mountSecrets mounts all secrets that are files from one volume.
func mountSecrets(d *draft, reference corev1.LocalObjectReference, files []corev1.KeyToPath) {
	d.spec.Volumes = append(d.spec.Volumes, corev1.Volume{Name: secretsVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: reference, Items: files}},
		}},
	}})
	d.eachOwn(func(container *corev1.Container) {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: secretsVolume, MountPath: secretsDir, ReadOnly: true})
	})
}

func eachContainer(spec *corev1.PodSpec, do func(*corev1.Container)) {
	for i := range spec.InitContainers {
		do(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		do(&spec.Containers[i])
	}
}
