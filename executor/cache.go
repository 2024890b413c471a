package executor

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// cacheOptions let informers see what is ours and keep what is needed, so that memory grows with live work only, and
// little. Cached objects are shared: nobody changes them.
func cacheOptions(namespaces []string, installation string) cache.Options {
	marks := labels.Set{v1.LabelManaged: v1.ManagedValue}
	if installation != "" {
		marks[v1.LabelInstallation] = installation
	}
	ours := labels.SelectorFromSet(marks)
	shared := true
	only := map[string]cache.Config{}
	for _, namespace := range namespaces {
		only[namespace] = cache.Config{}
	}
	return cache.Options{
		DefaultNamespaces: only,
		ByObject: map[client.Object]cache.ByObject{
			&v1.TaskAction{}: {Label: ours, Transform: stripTask, UnsafeDisableDeepCopy: &shared},
			&corev1.Pod{}:    {Label: ours, Transform: stripPod, UnsafeDisableDeepCopy: &shared},
		},
	}
}

func stripTask(object any) (any, error) {
	if task, ok := object.(*v1.TaskAction); ok {
		task.ManagedFields = nil
	}
	return object, nil
}

// stripPod keeps of a pod what its state is read from: its names, its node, its status.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields, pod.Annotations = nil, nil
	pod.Spec = corev1.PodSpec{
		NodeName:       pod.Spec.NodeName,
		InitContainers: stripContainers(pod.Spec.InitContainers),
		Containers:     stripContainers(pod.Spec.Containers),
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
