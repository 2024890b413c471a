package sharing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// sweepPause is the pause between two sweeps.
	sweepPause = 10 * time.Second
	// noted is how old the note of the last use of a cluster in use becomes: so much earlier a cluster may end whose last attempt
	// ended while no process watched.
	noted = 15 * time.Second
	// LeastIdle and LongestIdle bound how long a cluster is kept without attempts, as they do for other reusable environments.
	LeastIdle, LongestIdle = 30 * time.Second, 30 * 24 * time.Hour
)

// Run ends idle clusters until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("cannot look for idle Ray clusters; trying again")
		}
		_ = clock.Sleep(ctx, k.deps.Clock, sweepPause)
	}
	return nil
}

// Sweep deletes the shared clusters of this installation that no attempt has used for their time, and those of runs that have ended. It
// notes the use of the others.
func (k *Keeper) Sweep(ctx context.Context) error {
	clusters, failed := k.own(ctx)
	if meta.IsNoMatchError(failed) {
		return nil // KubeRay is not installed
	}
	for i := range clusters {
		failed = errors.Join(failed, k.judge(ctx, &clusters[i]))
	}
	return failed
}

// own lists the shared clusters of this installation that are not being deleted. With an error, those that it could list.
func (k *Keeper) own(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	namespaces := k.deps.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	marks := client.MatchingLabels{v1.LabelManaged: v1.ManagedValue}
	if k.deps.Installation != "" {
		marks[v1.LabelInstallation] = k.deps.Installation
	}
	var all []metav1.PartialObjectMetadata
	var failed error
	for _, namespace := range namespaces {
		found, err := k.list(ctx, clusterKind, client.InNamespace(namespace), marks, client.HasLabels{LabelCluster})
		if meta.IsNoMatchError(err) {
			return nil, err
		}
		failed = errors.Join(failed, err)
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(c metav1.PartialObjectMetadata) bool { return c.DeletionTimestamp != nil }), failed
}

func (k *Keeper) list(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
	if err := k.deps.Live.List(ctx, found, options...); err != nil {
		return nil, fmt.Errorf("list %ss: %w", kind.Kind, err)
	}
	return found.Items, nil
}

// judge notes that a cluster is in use, or deletes one that is not. The order matters: an attempt notes its use before it creates its
// RayJob. So an attempt that comes after the list of RayJobs has changed the version of the cluster, and the deletion fails.
func (k *Keeper) judge(ctx context.Context, cluster *metav1.PartialObjectMetadata) error {
	taken, err := k.taken(ctx, cluster)
	if err != nil {
		return err
	}
	idle, known := k.idle(cluster)
	if !known || (taken && idle > noted) {
		return ignoreChanges(k.touch(ctx, cluster))
	}
	if taken {
		return nil
	}
	over, err := k.over(ctx, cluster)
	if err != nil || (!over && idle < ttlOf(cluster)) {
		return err
	}
	return k.end(ctx, cluster)
}

// taken reports whether an attempt uses a cluster.
func (k *Keeper) taken(ctx context.Context, cluster *metav1.PartialObjectMetadata) (bool, error) {
	jobs, err := k.list(ctx, jobKind, client.InNamespace(cluster.Namespace), client.MatchingLabels{LabelCluster: cluster.Name}, client.Limit(1))
	return len(jobs) > 0, err
}

// idle is how long ago the use of a cluster was noted. A note of the future is from before the clock was put back. Without a note it is
// not known how long the cluster has been idle.
func (k *Keeper) idle(cluster *metav1.PartialObjectMetadata) (since time.Duration, known bool) {
	used, err := time.Parse(time.RFC3339, cluster.Annotations[annotationUsed])
	since = k.deps.Clock.Now().Sub(used)
	return since, err == nil && since >= -noted
}

// over reports whether the run has ended whose attempts alone use the cluster. A run has the TaskAction of its first action until its
// end.
func (k *Keeper) over(ctx context.Context, cluster *metav1.PartialObjectMetadata) (bool, error) {
	run := cluster.Labels[labelScope]
	if run == "" {
		return false, nil
	}
	marks := client.MatchingLabels{v1.LabelRun: run}
	for _, name := range []string{v1.LabelProject, v1.LabelDomain} {
		marks[name] = cluster.Labels[name]
	}
	live, err := k.list(ctx, v1.GroupVersion.WithKind(v1.Kind), client.InNamespace(cluster.Namespace), marks, client.Limit(1))
	return len(live) == 0, err
}

func ttlOf(cluster *metav1.PartialObjectMetadata) time.Duration {
	seconds, err := strconv.ParseInt(cluster.Annotations[annotationTTL], 10, 32)
	if err != nil {
		return LeastIdle
	}
	return time.Duration(seconds) * time.Second
}

// end deletes a cluster that has not changed since it was read.
func (k *Keeper) end(ctx context.Context, cluster *metav1.PartialObjectMetadata) error {
	only := client.Preconditions{UID: &cluster.UID, ResourceVersion: &cluster.ResourceVersion}
	err := k.deps.Writer.Delete(ctx, cluster, only, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err == nil {
		zerolog.Ctx(ctx).Info().Str("cluster", cluster.Namespace+"/"+cluster.Name).Msg("ended an idle Ray cluster")
	}
	k.known.forget(client.ObjectKeyFromObject(cluster))
	return ignoreChanges(err)
}

// Release notes that an attempt no longer uses a cluster.
func (k *Keeper) Release(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(clusterKind)
	cluster.Namespace, cluster.Name, cluster.UID = key.Namespace, key.Name, uid
	return ignoreChanges(k.touch(ctx, cluster))
}

// ignoreChanges ignores that a cluster is gone or has changed.
func ignoreChanges(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
