package sharing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
)

// Limits are how many shared clusters may exist; 0 for any number. Processes that create clusters at the same time may exceed them by
// one each.
type Limits struct {
	// All counts those of the installation, PerProject those of one project.
	All, PerProject int
}

// FullError means that an attempt has to wait until a shared cluster ends.
type FullError struct {
	// Limit is how many there may be.
	Limit int
	// Project is whose limit it is; empty for that of the installation.
	Project string
}

// Error says what to wait for, or to change.
func (e *FullError) Error() string {
	whose, key := "the installation", "maxSharedRayClusters"
	if e.Project != "" {
		whose, key = "project "+e.Project, "maxSharedRayClustersPerProject"
	}
	return fmt.Sprintf("%s has %d shared Ray clusters, as many as executor.plugins.operators.%s allows, and all are in use; waiting until no "+
		"attempt uses one of them", whose, e.Limit, key)
}

// room makes sure that another cluster may be created: where there are as many as allowed, it ends the one that has been idle for the
// longest time.
func (k *Keeper) room(ctx context.Context, wanted *rayclusters.Wanted) error {
	if k.limits == (Limits{}) {
		return nil
	}
	all, err := k.clusters.Own(ctx)
	if err != nil {
		return err
	}
	project := wanted.Labels[v1.LabelProject]
	same := slices.DeleteFunc(slices.Clone(all), func(c metav1.PartialObjectMetadata) bool { return c.Labels[v1.LabelProject] != project })
	if full := k.limits.PerProject > 0 && len(same) >= k.limits.PerProject; full {
		ended, err := k.makeRoom(ctx, same)
		switch {
		case err != nil:
			return err
		case ended == "":
			return &FullError{Limit: k.limits.PerProject, Project: project}
		}
		all = slices.DeleteFunc(all, func(c metav1.PartialObjectMetadata) bool { return string(c.UID) == ended })
	}
	if full := k.limits.All > 0 && len(all) >= k.limits.All; full {
		switch ended, err := k.makeRoom(ctx, all); {
		case err != nil:
			return err
		case ended == "":
			return &FullError{Limit: k.limits.All}
		}
	}
	return nil
}

// makeRoom ends the cluster that has been idle for the longest time, and returns its uid; empty if all are in use. One that was used a
// moment ago is left: its attempt may not have created its RayJob yet.
func (k *Keeper) makeRoom(ctx context.Context, of []metav1.PartialObjectMetadata) (string, error) {
	type candidate struct {
		cluster *metav1.PartialObjectMetadata
		idle    time.Duration
	}
	var found []candidate
	for i := range of {
		if idle, known := k.clusters.Idle(&of[i]); known && idle >= LeastIdle {
			found = append(found, candidate{&of[i], idle})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Compare(b.idle, a.idle) })
	for _, one := range found {
		taken, err := k.clusters.Taken(ctx, one.cluster)
		if err != nil {
			return "", err
		}
		if !taken {
			return string(one.cluster.UID), k.end(ctx, one.cluster)
		}
	}
	return "", nil
}
