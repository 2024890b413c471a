package podspec

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Names of containers in a pod template that do not run but are bases for those of the task.
const (
	baseOfAll         = "default"      // of every container
	baseOfPrimary     = "primary"      // of the primary container, over that of all
	baseOfInits       = "default-init" // of every init container
	baseOfPrimaryInit = "primary-init" // of the first init container, over that of all
)

// mergeTemplate merges the task's pod into a pod template. The task wins; Kubernetes' keyed lists are merged by key;
// tolerations and sources of variables are joined. Containers of the template that are not bases run with the task's, or
// are the base of a container of the same name.
func mergeTemplate(base *corev1.PodSpec, own *corev1.PodSpec, primary string) (*corev1.PodSpec, error) {
	base, own = base.DeepCopy(), own.DeepCopy()
	containers, err := mergeContainers(base.Containers, own.Containers, baseOfAll, baseOfPrimary, func(i int) bool {
		return own.Containers[i].Name == primary
	})
	if err != nil {
		return nil, err
	}
	inits, err := mergeContainers(base.InitContainers, own.InitContainers, baseOfInits, baseOfPrimaryInit, func(i int) bool { return i == 0 })
	if err != nil {
		return nil, err
	}
	base.Volumes = without(base.Volumes, own.Volumes, func(v corev1.Volume) string { return v.Name })
	tolerations := base.Tolerations
	base.Containers, base.InitContainers, base.Tolerations = nil, nil, nil
	added := own.Tolerations
	own.Containers, own.InitContainers, own.Tolerations = nil, nil, nil
	merged := &corev1.PodSpec{}
	if err := patch(base, own, merged, "containers"); err != nil {
		return nil, err
	}
	merged.Containers, merged.InitContainers, merged.Tolerations = containers, inits, tolerations
	tolerate(merged, added...)
	return merged, nil
}

// mergeContainers returns the task's containers in their order, then those that only the template has.
func mergeContainers(base, own []corev1.Container, all, first string, isFirst func(int) bool) ([]corev1.Container, error) {
	named := func(name string) *corev1.Container {
		if at := slices.IndexFunc(base, func(c corev1.Container) bool { return c.Name == name }); at >= 0 {
			return &base[at]
		}
		return nil
	}
	var result []corev1.Container
	used := []string{all, first}
	for i := range own {
		layers := []*corev1.Container{named(all)}
		if isFirst(i) {
			layers = append(layers, named(first))
		}
		if name := own[i].Name; !slices.Contains([]string{all, first}, name) {
			layers = append(layers, named(name))
			used = append(used, name)
		}
		merged := corev1.Container{}
		for _, layer := range append(layers, &own[i]) {
			if layer == nil {
				continue
			}
			over, err := mergeContainer(merged, *layer)
			if err != nil {
				return nil, fmt.Errorf("container %q: %w", own[i].Name, err)
			}
			merged = over
		}
		result = append(result, merged)
	}
	for _, extra := range base {
		if !slices.Contains(used, extra.Name) {
			result = append(result, extra)
		}
	}
	return result, nil
}

// mergeContainer merges one container into another. Where two entries of one key would merge into contradicting halves, the
// lower entry is dropped.
func mergeContainer(below, above corev1.Container) (corev1.Container, error) {
	below.Env = without(below.Env, above.Env, func(v corev1.EnvVar) string { return v.Name })
	below.VolumeMounts = without(below.VolumeMounts, above.VolumeMounts, func(v corev1.VolumeMount) string { return v.MountPath })
	below.Ports = without(below.Ports, above.Ports, func(v corev1.ContainerPort) string { return fmt.Sprint(v.ContainerPort, v.Protocol) })
	below.Resources = *below.Resources.DeepCopy()
	for _, list := range []corev1.ResourceList{above.Resources.Requests, above.Resources.Limits} {
		for name := range list {
			delete(below.Resources.Requests, name)
			delete(below.Resources.Limits, name)
		}
	}
	sources := append(slices.Clone(below.EnvFrom), above.EnvFrom...)
	for _, probe := range []struct{ below, above **corev1.Probe }{
		{&below.LivenessProbe, &above.LivenessProbe}, {&below.ReadinessProbe, &above.ReadinessProbe}, {&below.StartupProbe, &above.StartupProbe},
	} {
		if *probe.above != nil {
			*probe.below = nil
		}
	}
	if above.Lifecycle != nil {
		below.Lifecycle = nil
	}
	result := corev1.Container{}
	if err := patch(&below, &above, &result, ""); err != nil {
		return corev1.Container{}, err
	}
	result.EnvFrom = sources
	return result, nil
}

// patch merges by the strategic merge rules of the type. The field takenOut, which the caller merges, is left alone.
func patch[T any](below, above, into *T, takenOut string) error {
	original, err := json.Marshal(below)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(above)
	if err != nil {
		return err
	}
	if takenOut != "" { // It has no omitempty, and null would delete it.
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(encoded, &fields); err != nil {
			return err
		}
		delete(fields, takenOut)
		if encoded, err = json.Marshal(fields); err != nil {
			return err
		}
	}
	merged, err := strategicpatch.StrategicMergePatch(original, encoded, *into)
	if err != nil {
		return err
	}
	return json.Unmarshal(merged, into)
}

// without returns the elements of a list whose key no element of the other has.
func without[T any](list, other []T, key func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(list), func(one T) bool {
		return slices.ContainsFunc(other, func(above T) bool { return key(above) == key(one) })
	})
}
