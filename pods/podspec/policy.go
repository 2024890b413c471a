package podspec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/podpolicy"
)

// checkPolicy refuses what a task may not ask for. It sees the pod as the task declares it: what the operator's pod template
// and defaults add later has no such limit.
func (b *Builder) checkPolicy(subject *Subject, declared *corev1.PodSpec) error {
	asked := askedBy(b.config, subject.Declared, declared)
	maps.Copy(asked.Annotations, subject.Annotations)
	if account := subject.ServiceAccount; account != "" {
		asked.ServiceAccount = account
	}
	if defaults := subject.Defaults; defaults != nil {
		asked.GrantedAccounts = append(asked.GrantedAccounts, defaults.ServiceAccount)
	}
	return refuse(b.policy.Check(asked))
}

// askedBy returns what the task itself asks for.
func askedBy(config Config, template *core.TaskTemplate, declared *corev1.PodSpec) podpolicy.Asked {
	asked := podpolicy.Asked{
		Spec: declared, Annotations: map[string]string{}, ServiceAccount: declared.ServiceAccountName,
		GrantedAccounts: grantedBy(config),
	}
	maps.Copy(asked.Annotations, template.GetMetadata().GetMetadata().GetAnnotations())
	maps.Copy(asked.Annotations, template.GetK8SPod().GetMetadata().GetAnnotations())
	return asked
}

// grantedBy are the accounts that the configuration names for every pod. Without one for all, the account that pods get from their
// namespace is called default.
func grantedBy(config Config) []string {
	return []string{cmp.Or(config.DefaultServiceAccount, "default")}
}

// checkTemplateUse refuses a task that would get hold of what a pod template keeps for containers of its own: by a container
// of the same name, by a mount of its volumes, or by a volume that replaces one of those.
func (b *Builder) checkTemplateUse(base, own *corev1.PodSpec) error {
	var found []podpolicy.Violation
	add := func(what string, because []podpolicy.Violation) {
		for _, violation := range because {
			violation.What = what + ": " + violation.What
			found = append(found, violation)
		}
	}
	names := containerNames(own)
	mounted := map[string]bool{} // volumes of the containers that only the template has
	for _, lists := range [][]corev1.Container{base.InitContainers, base.Containers} {
		for i := range lists {
			switch container := &lists[i]; {
			case slices.Contains([]string{baseOfAll, baseOfPrimary, baseOfInits, baseOfPrimaryInit}, container.Name):
			case slices.Contains(names, container.Name):
				add(fmt.Sprintf("container %q takes the place of that of the pod template", container.Name), b.policy.CheckContainer(container))
			default:
				for _, mount := range container.VolumeMounts {
					mounted[mount.Name] = true
				}
			}
		}
	}
	for i := range own.Volumes {
		if name := own.Volumes[i].Name; mounted[name] && slices.ContainsFunc(base.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
			found = append(found, podpolicy.Violation{
				What: fmt.Sprintf("volume %q takes the place of one that containers of the pod template mount; give it another name", name),
			})
		}
	}
	eachContainer(own, func(container *corev1.Container) {
		for _, name := range volumesOf(container) {
			declared := func(v corev1.Volume) bool { return v.Name == name }
			if at := slices.IndexFunc(base.Volumes, declared); at >= 0 && !slices.ContainsFunc(own.Volumes, declared) {
				add(fmt.Sprintf("container %q mounts a volume of the pod template", container.Name), b.policy.CheckVolume(&base.Volumes[at]))
			}
		}
	})
	return refuse(found)
}

// volumesOf are the names of the volumes that a container uses.
func volumesOf(container *corev1.Container) []string {
	var names []string
	for _, mount := range container.VolumeMounts {
		names = append(names, mount.Name)
	}
	for _, device := range container.VolumeDevices {
		names = append(names, device.Name)
	}
	return names
}

func refuse(violations []podpolicy.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	return failure.New(failure.PodNotAllowed, "%s", podpolicy.Words(violations))
}
