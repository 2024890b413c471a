package sharing

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fresh is how long what was read of a cluster serves all of its attempts.
const fresh = 5 * time.Second

// Cluster is what KubeRay says of a shared cluster. The zero value is one that does not exist.
type Cluster struct {
	UID types.UID
	// Ready means that KubeRay has seen all of its pods run.
	Ready bool
	// Suspended means that it has no pods until a queue admits it.
	Suspended bool
	// Ending means that it is being deleted.
	Ending bool
	// Pods are those of a cluster that is neither ready nor suspended: they say what it waits for. They must not be changed.
	Pods []corev1.Pod
}

// seen is what was read of a cluster, and when.
type seen struct {
	cluster Cluster
	at      time.Time
}

// known are the clusters that were read lately.
type known struct {
	mu     sync.Mutex
	states map[types.NamespacedName]seen // GUARDED_BY(mu)
}

func (k *known) get(key types.NamespacedName, now time.Time) (Cluster, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, found := k.states[key]
	age := now.Sub(one.at)
	return one.cluster, found && age >= 0 && age < fresh
}

// put remembers a cluster, and forgets those that no one has asked for.
func (k *known) put(key types.NamespacedName, cluster Cluster, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, one := range k.states {
		if age := now.Sub(one.at); age < 0 || age >= fresh {
			delete(k.states, other)
		}
	}
	k.states[key] = seen{cluster: cluster, at: now}
}

func (k *known) forget(key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.states, key)
}

// Look returns the cluster that an attempt uses as it was at most five seconds ago. Another one of the same name is always as it is now:
// what was read before may be about its predecessor.
func (k *Keeper) Look(ctx context.Context, key types.NamespacedName, uid types.UID) (Cluster, error) {
	now := k.deps.Clock.Now()
	if found, ok := k.known.get(key, now); ok && found.UID == uid && !found.Ending {
		return found, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind)
	var cluster Cluster
	switch err := k.deps.Live.Get(ctx, key, object); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return Cluster{}, fmt.Errorf("read RayCluster %s: %w", key.Name, err)
	default:
		state, _, _ := unstructured.NestedString(object.Object, "status", "state")
		suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
		cluster = Cluster{UID: object.GetUID(), Ready: state == "ready", Suspended: suspended, Ending: object.GetDeletionTimestamp() != nil}
	}
	if cluster.UID != "" && !cluster.Ready && !cluster.Suspended && !cluster.Ending {
		pods := &corev1.PodList{}
		if err := k.deps.Live.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels{LabelCluster: key.Name}); err != nil {
			return Cluster{}, fmt.Errorf("list the pods of RayCluster %s: %w", key.Name, err)
		}
		cluster.Pods = pods.Items
	}
	k.known.put(key, cluster, now)
	return cluster, nil
}
