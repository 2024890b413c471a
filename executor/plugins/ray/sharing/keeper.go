// Package sharing keeps the RayClusters that attempts share: it creates one where there is none, notes when it was used last, and
// deletes it when no attempt has used it for its time. All of its memory is in the cluster, so that any number of processes may do
// this at once, and each may stop at any time.
package sharing

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// LeastIdle and LongestIdle bound how long a cluster is kept without attempts, as they do for other reusable environments.
const LeastIdle, LongestIdle = 30 * time.Second, 30 * 24 * time.Hour

// Keeper keeps shared clusters. It is safe for concurrent use.
type Keeper struct {
	clusters *rayclusters.Clusters
	clock    clock.Clock
	limits   Limits
	known    known
}

// New returns a keeper.
func New(deps plugin.Deps, limits Limits) *Keeper {
	return &Keeper{clusters: rayclusters.New(deps), clock: deps.Clock, limits: limits, known: known{states: map[types.NamespacedName]seen{}}}
}

// tries is how often Ensure begins again because another process did something at the same time.
const tries = 3

// Ensure makes the cluster exist, notes its use, and returns its uid. Where several processes create it at once, one does. It may be
// called any number of times. A *FullError means that there is no room for another cluster.
func (k *Keeper) Ensure(ctx context.Context, wanted *rayclusters.Wanted) (types.UID, error) {
	key := types.NamespacedName{Namespace: wanted.Namespace, Name: wanted.Name}
	for range tries {
		found, err := k.clusters.Get(ctx, key)
		uid := found.GetUID()
		switch {
		case apierrors.IsNotFound(err):
			if err := k.room(ctx, wanted); err != nil {
				return "", err
			}
			uid, err = k.clusters.Create(ctx, wanted)
			if apierrors.IsAlreadyExists(err) {
				continue
			}
		case err == nil && found.GetDeletionTimestamp() != nil:
			return "", rayclusters.ErrEnding
		case err == nil && found.GetLabels()[rayclusters.LabelCluster] != wanted.Name:
			return "", fmt.Errorf("RayCluster %s is not one of this installation", wanted.Name)
		case err == nil:
			err = k.clusters.Touch(ctx, found)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				continue
			}
		}
		if err != nil {
			return "", fmt.Errorf("create RayCluster %s: %w", wanted.Name, err)
		}
		k.known.forget(key)
		return uid, k.clusters.CreateSecrets(ctx, wanted, uid)
	}
	return "", rayclusters.ErrEnding
}

// Release notes that an attempt no longer uses a cluster.
func (k *Keeper) Release(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	return k.clusters.Release(ctx, key, uid)
}
