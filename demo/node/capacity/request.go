package capacity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Request is the resources that a pod requests: the most that its containers use at the same time.
func Request(pod *corev1.Pod) corev1.ResourceList {
	// Sidecars run on while later init containers run one at a time, so the peak is all sidecars so far and the largest
	// of those.
	sidecars := corev1.ResourceList{}
	peak := corev1.ResourceList{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if IsSidecar(c) {
			Add(sidecars, c.Resources.Requests)
			raise(peak, sidecars)
			continue
		}
		during := sidecars.DeepCopy()
		Add(during, c.Resources.Requests)
		raise(peak, during)
	}
	total := sidecars
	for i := range pod.Spec.Containers {
		Add(total, pod.Spec.Containers[i].Resources.Requests)
	}
	raise(total, peak)
	// What the pod as a whole declares replaces the sum of its containers.
	if pod.Spec.Resources != nil {
		for name, quantity := range pod.Spec.Resources.Requests {
			total[name] = quantity.DeepCopy()
		}
	}
	Add(total, pod.Spec.Overhead)
	total[corev1.ResourcePods] = resource.MustParse("1")
	return total
}

// Add adds resources to a sum, in place.
func Add(sum, more corev1.ResourceList) {
	for name, quantity := range more {
		value := sum[name]
		value.Add(quantity)
		sum[name] = value
	}
}

// Subtract subtracts resources from a sum, in place.
func Subtract(sum, less corev1.ResourceList) {
	for name, quantity := range less {
		value := sum[name]
		value.Sub(quantity)
		sum[name] = value
	}
}

// raise makes each resource at least as much as the other, in place.
func raise(sum, to corev1.ResourceList) {
	for name, quantity := range to {
		if value := sum[name]; value.Cmp(quantity) < 0 {
			sum[name] = quantity.DeepCopy()
		}
	}
}

// IsSidecar reports whether an init container runs as long as the containers of its pod.
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
