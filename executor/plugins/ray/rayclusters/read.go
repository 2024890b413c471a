package rayclusters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// skew is how far a clock may be put back before notes of the last use say nothing.
const skew = 15 * time.Second

// State is what KubeRay says of a shared cluster. The zero value is one that does not exist.
type State struct {
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

// Read returns the state of a cluster.
func (c *Clusters) Read(ctx context.Context, key types.NamespacedName) (State, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind)
	var cluster State
	switch err := c.deps.Live.Get(ctx, key, object); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return State{}, fmt.Errorf("read RayCluster %s: %w", key.Name, err)
	default:
		state, _, _ := unstructured.NestedString(object.Object, "status", "state")
		suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
		cluster = State{UID: object.GetUID(), Ready: state == "ready", Suspended: suspended, Ending: object.GetDeletionTimestamp() != nil}
	}
	if cluster.UID != "" && !cluster.Ready && !cluster.Suspended && !cluster.Ending {
		pods := &corev1.PodList{}
		if err := c.deps.Live.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels{LabelCluster: key.Name}); err != nil {
			return State{}, fmt.Errorf("list the pods of RayCluster %s: %w", key.Name, err)
		}
		cluster.Pods = pods.Items
	}
	return cluster, nil
}

// Own lists the shared clusters of this installation that are not being deleted. With an error, those that it could list.
func (c *Clusters) Own(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	namespaces := c.deps.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	marks := client.MatchingLabels{v1.LabelManaged: v1.ManagedValue}
	if c.deps.Installation != "" {
		marks[v1.LabelInstallation] = c.deps.Installation
	}
	var all []metav1.PartialObjectMetadata
	var failed error
	for _, namespace := range namespaces {
		found, err := c.list(ctx, clusterKind, client.InNamespace(namespace), marks, client.HasLabels{LabelCluster})
		if meta.IsNoMatchError(err) {
			return nil, err
		}
		failed = errors.Join(failed, err)
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(one metav1.PartialObjectMetadata) bool { return one.DeletionTimestamp != nil }), failed
}

func (c *Clusters) list(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
	if err := c.deps.Live.List(ctx, found, options...); err != nil {
		return nil, fmt.Errorf("list %ss: %w", kind.Kind, err)
	}
	return found.Items, nil
}

// Taken reports whether an attempt uses a cluster.
func (c *Clusters) Taken(ctx context.Context, cluster *metav1.PartialObjectMetadata) (bool, error) {
	jobs, err := c.list(ctx, jobKind, client.InNamespace(cluster.Namespace), client.MatchingLabels{LabelCluster: cluster.Name}, client.Limit(1))
	return len(jobs) > 0, err
}

// Idle is how long ago the use of a cluster was noted. A note of the future is from before the clock was put back. Without a note it is
// not known how long the cluster has been idle.
func (c *Clusters) Idle(cluster *metav1.PartialObjectMetadata) (since time.Duration, known bool) {
	used, err := time.Parse(time.RFC3339, cluster.Annotations[annotationUsed])
	since = c.deps.Clock.Now().Sub(used)
	return since, err == nil && since >= -skew
}

// Over reports whether the run has ended whose attempts alone use the cluster. A run has the TaskAction of its first action until its
// end.
func (c *Clusters) Over(ctx context.Context, cluster *metav1.PartialObjectMetadata) (bool, error) {
	run := cluster.Labels[labelScope]
	if run == "" {
		return false, nil
	}
	marks := client.MatchingLabels{v1.LabelRun: run}
	for _, name := range []string{v1.LabelProject, v1.LabelDomain} {
		marks[name] = cluster.Labels[name]
	}
	live, err := c.list(ctx, v1.GroupVersion.WithKind(v1.Kind), client.InNamespace(cluster.Namespace), marks, client.Limit(1))
	return len(live) == 0, err
}

// TTL is how long a cluster is kept without attempts; unknown if the cluster does not say.
func TTL(cluster *metav1.PartialObjectMetadata) (ttl time.Duration, known bool) {
	seconds, err := strconv.ParseInt(cluster.Annotations[annotationTTL], 10, 32)
	return time.Duration(seconds) * time.Second, err == nil
}
