package podpolicy

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// volumeKinds are all kinds of volumes, by their fields in Kubernetes' API.
func volumeKinds() []string {
	var kinds []string
	source := reflect.TypeFor[corev1.VolumeSource]()
	for i := range source.NumField() {
		kinds = append(kinds, jsonName(source.Field(i)))
	}
	slices.Sort(kinds)
	return kinds
}

// CheckVolume judges a volume that a task declares, or that it mounts from a pod template.
func (p *Policy) CheckVolume(volume *corev1.Volume) []Violation {
	var found []Violation
	source := reflect.ValueOf(volume.VolumeSource)
	for i := range source.NumField() {
		kind := jsonName(source.Type().Field(i))
		if source.Field(i).IsNil() || slices.Contains(p.config.Volumes, kind) {
			continue
		}
		what := fmt.Sprintf("volume %q is of the kind %s", volume.Name, kind)
		if volume.HostPath != nil && kind == "hostPath" {
			what += fmt.Sprintf(", path %q", volume.HostPath.Path)
		}
		found = append(found, Violation{Area: PodSpec, What: what, Allow: "volumes, which must list " + kind})
	}
	where := fmt.Sprintf("volume %q", volume.Name)
	for _, name := range secretsOf(&volume.VolumeSource) {
		found = append(found, p.checkSecret(where, name)...)
	}
	return found
}

// secretsOf are the names of the Secrets that a volume refers to. Kinds that are outdated have references too; they are
// refused by their kind unless the operator lists it.
func secretsOf(source *corev1.VolumeSource) []string {
	var names []string
	if source.Secret != nil {
		names = append(names, source.Secret.SecretName)
	}
	if source.Projected != nil {
		for _, projection := range source.Projected.Sources {
			if projection.Secret != nil {
				names = append(names, projection.Secret.Name)
			}
		}
	}
	if source.CSI != nil && source.CSI.NodePublishSecretRef != nil {
		names = append(names, source.CSI.NodePublishSecretRef.Name)
	}
	return names
}
