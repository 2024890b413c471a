package podstatus

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/pods/podsecret"
)

// Strip removes from a pod that enters the cache everything that this package and the orphan sweep do not read: it
// keeps names, labels, owners, node, containers' names, the names of Secrets and status. Other objects stay as they
// are. The cache has every pod of the cluster's tasks, and specs are the largest part of them.
func Strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields, pod.Annotations = nil, nil
	pod.Spec = corev1.PodSpec{
		NodeName:       pod.Spec.NodeName,
		InitContainers: stripContainers(pod.Spec.InitContainers),
		Containers:     stripContainers(pod.Spec.Containers),
		Volumes:        podsecret.Keep(&pod.Spec),
	}
	pod.OwnerReferences = append([]metav1.OwnerReference(nil), pod.OwnerReferences...)
	return pod, nil
}

func stripContainers(containers []corev1.Container) []corev1.Container {
	result := make([]corev1.Container, len(containers))
	for i, container := range containers {
		result[i] = corev1.Container{Name: container.Name, RestartPolicy: container.RestartPolicy}
	}
	return result
}
