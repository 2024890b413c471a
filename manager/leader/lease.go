package leader

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// annotation of the Lease has the table.
	annotation = "flyte.org/shards"
	// together is the holder of the Lease for all replicas that share the shards. To replicas of the version before,
	// which lead alone, it is another replica, whose Lease they wait for.
	together = "all-replicas"
)

// seen is what this replica has observed of the Lease. Only how long something has been so counts. It is measured by the
// monotonic clock of this process, which no one can set, and not by the times in the Lease.
type seen struct {
	version string    // of the Lease
	changed time.Time // when version did
	looked  time.Time // when the Lease was last read
	beats   map[string]silence
	member  bool // the table has this replica
}

// silence is since when a replica has not renewed.
type silence struct {
	beat  int64
	since time.Time
}

// read reads the Lease; one that does not exist has no version.
func (e *Election) read(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := e.client.CoordinationV1().Leases(e.config.Namespace).Get(ctx, e.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		e.ensureNamespace(ctx)
		lease, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.config.Namespace, Name: e.config.Name}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Lease: %w", err)
	}
	return lease, nil
}

// tableOf is the table of the Lease; nil while a replica of the version before leads. A table from before someone else
// held the Lease is no longer valid.
func (e *Election) tableOf(lease *coordinationv1.Lease, now time.Time) (*table, error) {
	if lease.ResourceVersion != e.seen.version {
		e.seen.version, e.seen.changed = lease.ResourceVersion, now
	}
	holder, seconds := "", int32(0)
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.LeaseDurationSeconds != nil {
		seconds = *lease.Spec.LeaseDurationSeconds
	}
	switch {
	case holder == together:
		return decodeTable(lease.Annotations[annotation])
	case holder != "" && now.Sub(e.seen.changed) < time.Duration(seconds)*time.Second:
		return nil, nil //nolint:nilnil // it is not ours
	}
	return newTable(), nil
}

// bury removes replicas that have been silent for too long. What this replica did not look at, because it was frozen or the
// API server was unavailable, does not count as silence.
func (e *Election) bury(t *table, now time.Time) {
	blind := now.Sub(e.seen.looked) >= e.config.renewal()
	e.seen.looked = now
	beats := map[string]silence{}
	for name, one := range t.Replicas {
		before, known := e.seen.beats[name]
		if !known || blind || before.beat != one.Beat {
			before = silence{beat: one.Beat, since: now}
		}
		if name != e.identity && now.Sub(before.since) >= one.duration() {
			e.logger.Warn().Str("replica", name).Str("lease", e.config.Name).Ints("shards", t.owned(name)).
				Msg("a replica is dead; others take its shards")
			t.remove(name)
			continue
		}
		beats[name] = before
	}
	e.seen.beats = beats
}

// write writes the table. It fails with a conflict if another replica was faster.
func (e *Election) write(ctx context.Context, lease *coordinationv1.Lease, t *table) error {
	holder, seconds, now := together, int32(t.seconds()), metav1.NowMicro() //nolint:gosec // a few seconds
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != together {
		transitions := int32(1)
		if lease.Spec.LeaseTransitions != nil {
			transitions = *lease.Spec.LeaseTransitions + 1
		}
		lease.Spec.AcquireTime, lease.Spec.LeaseTransitions = &now, &transitions
	}
	if len(t.Replicas) == 0 {
		holder = "" // so that no one need wait
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &holder, &seconds, &now
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[annotation] = t.encode()
	leases := e.client.CoordinationV1().Leases(e.config.Namespace)
	var err error
	if lease.ResourceVersion == "" {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the Lease: %w", err)
	}
	return nil
}

// ensureNamespace creates the namespace of the Lease. A failure shows when the Lease cannot be created.
func (e *Election) ensureNamespace(ctx context.Context) {
	namespaces := e.client.CoreV1().Namespaces()
	if _, err := namespaces.Get(ctx, e.config.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return
	}
	_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.config.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		e.logger.Warn().Err(err).Str("namespace", e.config.Namespace).Msg("cannot create the namespace of the lease")
	}
}
