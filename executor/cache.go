package executor

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/executor/podstatus"
)

// cacheOptions limits informers to objects of this installation and strips what nobody reads, so that memory grows little,
// and only with live work. Besides the types of plugins, TaskActions and Pods are always cached, since the orphan sweep
// lists Pods whatever plugins are enabled. Cached objects are shared and must not be changed.
func cacheOptions(namespaces []string, installation string, informers []plugin.Informer) cache.Options {
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
	all := append([]plugin.Informer{{Object: &v1.TaskAction{}, Strip: stripTask}, {Object: &corev1.Pod{}, Strip: podstatus.Strip}}, informers...)
	objects := map[client.Object]cache.ByObject{}
	for _, informer := range all {
		objects[informer.Object] = cache.ByObject{Label: ours, Transform: informer.Strip, UnsafeDisableDeepCopy: &shared}
	}
	return cache.Options{DefaultNamespaces: only, ByObject: objects}
}

func stripTask(object any) (any, error) {
	if task, ok := object.(*v1.TaskAction); ok {
		task.ManagedFields = nil
	}
	return object, nil
}
