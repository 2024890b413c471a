package executor

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// selector chooses the objects of an installation in a shard.
func selector(installation string, shard int) labels.Selector {
	marks := labels.Set{v1.LabelManaged: v1.ManagedValue}
	if installation != "" {
		marks[v1.LabelInstallation] = installation
	}
	if shard != ident.AllShards {
		marks[v1.LabelShard] = strconv.Itoa(shard)
	}
	return labels.SelectorFromSet(marks)
}

// cacheOptions limits informers to our objects and strips what no one reads, so that memory grows little,
// and only with live work. Besides the types of plugins, TaskActions and Pods are always cached, since the orphan sweep
// lists Pods whatever plugins are enabled. Cached objects are shared and must not be changed.
func cacheOptions(namespaces []string, ours labels.Selector, informers []plugin.Informer) cache.Options {
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

// seenBy tells how far a cache is. A cache of several namespaces has an informer for each, and cannot tell.
func seenBy(informers cache.Informers) plugin.Seen {
	return func(object client.Object, version string) (seen, known bool) {
		// The informer exists since the start: no call waits for it.
		informer, err := informers.GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
		if err != nil {
			return false, false
		}
		versioned, ok := informer.(interface{ LastSyncResourceVersion() string })
		if !ok {
			return false, false
		}
		compared, err := resourceversion.CompareResourceVersion(versioned.LastSyncResourceVersion(), version)
		return compared >= 0, err == nil
	}
}

func stripTask(object any) (any, error) {
	if task, ok := object.(*v1.TaskAction); ok {
		task.ManagedFields = nil
	}
	return object, nil
}
