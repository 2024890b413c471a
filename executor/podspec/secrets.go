package podspec

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// secretsDir is where the SDK looks for secrets as files: <group>/<key>, in lower case.
const secretsDir = "/etc/flyte/secrets"

// secretsVolume is the volume behind secretsDir.
const secretsVolume = "flyte-secrets"

// injectSecrets gives the task's containers references to the secrets that it asks for. The group names the Kubernetes
// Secret, the key its entry. Values never appear in a pod.
func (b *Builder) injectSecrets(secrets []*core.Secret, d *draft) error {
	var files []corev1.VolumeProjection
	for _, secret := range secrets {
		name := b.config.SecretName
		if secret.GetGroup() != "" {
			name = strings.ToLower(strings.ReplaceAll(secret.GetGroup(), "_", "-"))
		}
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return failure.New(failure.BadTaskSpecification, "the group %q of secret %q cannot name a secret", secret.GetGroup(), secret.GetKey())
		}
		if problems := validation.IsConfigMapKey(secret.GetKey()); len(problems) > 0 {
			return failure.New(failure.BadTaskSpecification, "%q cannot be the key of a secret", secret.GetKey())
		}
		reference := corev1.LocalObjectReference{Name: name}
		if variable := secretVariable(secret); variable != "" {
			if problems := validation.IsEnvVarName(variable); len(problems) > 0 {
				return failure.New(failure.BadTaskSpecification, "secret %q cannot be variable %q", secret.GetKey(), variable)
			}
			source := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference, Key: secret.GetKey()}}
			d.eachOwn(func(container *corev1.Container) {
				container.Env = merge(container.Env, []corev1.EnvVar{{Name: variable, ValueFrom: source}})
			})
			continue
		}
		file := path.Join(strings.ToLower(secret.GetGroup()), strings.ToLower(secret.GetKey()))
		files = append(files, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: reference, Items: []corev1.KeyToPath{{Key: secret.GetKey(), Path: file}},
		}})
	}
	if len(files) > 0 {
		mountSecrets(d, files)
	}
	return nil
}

// mountSecrets mounts all secrets that are files from one volume.
func mountSecrets(d *draft, files []corev1.VolumeProjection) {
	d.spec.Volumes = append(d.spec.Volumes, corev1.Volume{Name: secretsVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: files},
	}})
	d.eachOwn(func(container *corev1.Container) {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: secretsVolume, MountPath: secretsDir, ReadOnly: true})
	})
}

// secretVariable is the environment variable of a secret; empty when it is a file.
func secretVariable(secret *core.Secret) string {
	switch {
	case secret.GetEnvVar() != "":
		return secret.GetEnvVar()
	case secret.GetMountRequirement() == core.Secret_ENV_VAR:
		text := secret.GetKey()
		if secret.GetGroup() != "" {
			text = secret.GetGroup() + "_" + text
		}
		return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(text))
	}
	return ""
}

func eachContainer(spec *corev1.PodSpec, do func(*corev1.Container)) {
	for i := range spec.InitContainers {
		do(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		do(&spec.Containers[i])
	}
}
