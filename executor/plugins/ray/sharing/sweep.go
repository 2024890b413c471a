package sharing

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// sweepPause is the pause between two sweeps.
	sweepPause = 10 * time.Second
	// noted is how old the note of the last use of a cluster in use becomes: so much earlier a cluster may end whose last attempt
	// ended while no process watched.
	noted = 15 * time.Second
)

// Run ends idle clusters until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("cannot look for idle Ray clusters; trying again")
		}
		_ = clock.Sleep(ctx, k.clock, sweepPause)
	}
	return nil
}

// Sweep deletes the shared clusters of this installation that no attempt has used for their time, and those of runs that have ended. It
// notes the use of the others.
func (k *Keeper) Sweep(ctx context.Context) error {
	found, failed := k.clusters.Own(ctx)
	if meta.IsNoMatchError(failed) {
		return nil // KubeRay is not installed
	}
	for i := range found {
		failed = errors.Join(failed, k.judge(ctx, &found[i]))
	}
	return failed
}

// judge notes that a cluster is in use, or deletes one that is not. The order matters: an attempt notes its use before it creates its
// RayJob. So an attempt that comes after the list of RayJobs has changed the version of the cluster, and the deletion fails.
func (k *Keeper) judge(ctx context.Context, cluster *metav1.PartialObjectMetadata) error {
	taken, err := k.clusters.Taken(ctx, cluster)
	if err != nil {
		return err
	}
	idle, known := k.clusters.Idle(cluster)
	if !known || (taken && idle > noted) {
		return rayclusters.IgnoreChanges(k.clusters.Touch(ctx, cluster))
	}
	if taken {
		return nil
	}
	over, err := k.clusters.Over(ctx, cluster)
	if err != nil || (!over && idle < ttlOf(cluster)) {
		return err
	}
	return k.end(ctx, cluster)
}

func ttlOf(cluster *metav1.PartialObjectMetadata) time.Duration {
	if ttl, known := rayclusters.TTL(cluster); known {
		return ttl
	}
	return LeastIdle
}

// end deletes a cluster that has not changed since it was read.
func (k *Keeper) end(ctx context.Context, cluster *metav1.PartialObjectMetadata) error {
	err := k.clusters.End(ctx, cluster)
	if err == nil {
		zerolog.Ctx(ctx).Info().Str("cluster", cluster.Namespace+"/"+cluster.Name).Msg("ended an idle Ray cluster")
	}
	k.known.forget(client.ObjectKeyFromObject(cluster))
	return rayclusters.IgnoreChanges(err)
}
