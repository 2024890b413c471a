package pools

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pools/size"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

const (
	// orphansAtOnce is how many lost attempts are judged in one pass.
	orphansAtOnce = 200
	// forgetAfter is how long workers that are gone, and pools without work, are remembered.
	forgetAfter = 10 * time.Minute
	// pause is the least time between two passes, in which changes gather.
	pause = 100 * time.Millisecond
	// descendantsEvery is how often it is looked for actions that have come to wait for a slot which their own ancestor holds.
	descendantsEvery = 5 * time.Second
)

// keeper does for all replicas what no session does: it picks up assigned actions, sizes pools, and gives up what is over.
type keeper struct {
	*handler
	descended time.Time // when it last looked for waiting descendants
}

// work makes a pass after each change, and when something is due.
func (k *keeper) work(ctx context.Context) error {
	changes := k.hub.keepers.Subscribe()
	defer changes.Close()
	for {
		next, err := k.pass(ctx)
		if err != nil {
			return err // started again after a pause
		}
		if clock.Sleep(ctx, k.deps.Clock, pause) != nil || clock.Await(ctx, k.deps.Clock, next, changes.Ready()) != nil {
			return nil
		}
	}
}

// pass does everything that is due and returns when to look again.
func (k *keeper) pass(ctx context.Context) (time.Duration, error) {
	// Leases first, then the attempts of the workers whose lease is over. Sizes come last: they depend on what still
	// runs.
	for _, step := range []func(context.Context) error{k.expire, k.abandon, k.store.Overrun, k.store.Announce, k.orphans, k.descendants} {
		if err := step(ctx); err != nil {
			return 0, err
		}
	}
	next, err := k.resize(ctx)
	if err != nil {
		return 0, err
	}
	if err := k.store.Sweep(ctx, forgetAfter); err != nil {
		return 0, err
	}
	due, some, err := k.store.Due(ctx)
	if some {
		next = min(next, due+time.Millisecond)
	}
	return next, err
}

// orphans ends the attempts of workers that are gone.
func (k *keeper) orphans(ctx context.Context) error {
	found, err := k.store.Orphans(ctx, orphansAtOnce)
	if err != nil {
		return err
	}
	for i := range found {
		if _, err := k.end(ctx, &found[i].Action, lostWith(&found[i]), k.deps.Clock.Now(), store.Claimant{}); err != nil {
			return err
		}
	}
	return nil
}

// descendants finds actions that wait while their own ancestor holds a slot, although it did not when they were offered: its attempt was
// lost, and the next one got a slot after they had been offered again.
func (k *keeper) descendants(ctx context.Context) error {
	now := k.deps.Clock.Now()
	if !k.descended.IsZero() && now.Sub(k.descended) < descendantsEvery {
		return nil
	}
	k.descended = now
	return k.store.NoteDescendants(ctx)
}

// lostWith says why an attempt was lost with its worker. Memory is the task's own fault, if the task is known to have used it.
func lostWith(o *store.Orphan) *failure.Failure {
	switch {
	case o.OutOfMemory && o.Blamed == o.UID:
		return failure.New(failure.OOMKilled, "worker %s", o.Worker)
	case o.OutOfMemory && o.Blamed == 0:
		return failure.New(failure.WorkerOOM, "worker %s", o.Worker)
	case o.OutOfMemory:
		return failure.New(failure.WorkerLost, "worker %s: another task used more memory than the worker has", o.Worker)
	}
	return failure.New(failure.WorkerLost, "worker %s", o.Worker)
}

// expire gives up the workers whose lease is over. A worker that is silent for its lease has ended its attempts itself
// by then.
func (k *keeper) expire(ctx context.Context) error {
	expired, err := k.store.Expire(ctx)
	k.meters.lost.Add(ctx, int64(expired))
	return err
}

// closed are the clusters that take no new work, by name.
func (h *handler) closed(ctx context.Context) (map[string]Closed, error) {
	if h.deps.Clusters == nil {
		return nil, nil
	}
	return h.deps.Clusters.Closed(ctx) //nolint:wrapcheck // it says what it could not read
}

// abandon gives up the workers of clusters that were removed.
func (k *keeper) abandon(ctx context.Context) error {
	closed, err := k.closed(ctx)
	if err != nil {
		return err
	}
	var removed []string
	for name, one := range closed {
		if one.Removed {
			removed = append(removed, name)
		}
	}
	if len(removed) == 0 {
		return nil
	}
	return k.store.Abandon(ctx, removed)
}

// reserve returns the workers that should be in reserve; nil if nothing changes.
func (k *keeper) reserve(p *size.Pool, d *size.Decision) []string {
	changed := false
	for _, w := range p.Workers {
		changed = changed || w.Reserve != slices.Contains(d.Reserve, w.ID)
	}
	if !changed {
		return nil
	}
	return append([]string{}, d.Reserve...)
}

// resize gives pools the workers that they should have, and returns when that may change.
func (k *keeper) resize(ctx context.Context) (time.Duration, error) {
	sizes, err := k.store.Sizes(ctx)
	if err != nil {
		return 0, err
	}
	closed, err := k.closed(ctx)
	if err != nil {
		return 0, err
	}
	next := k.config.Poll
	for i := range sizes {
		pool := &sizes[i]
		d := size.Decide(pool.Pool, pool.Now)
		if why, is := closed[pool.Cluster]; is {
			d = size.Close(pool.Pool, d, why.Empties)
		}
		// Workers failed to start, and the next one is not due yet.
		if pool.RetryAt.After(pool.Now) {
			d.Create = 0
			next = min(next, pool.RetryAt.Sub(pool.Now))
		}
		if !d.Next.IsZero() {
			next = min(next, d.Next.Sub(pool.Now)+time.Millisecond)
		}
		if pool.Waiting > 0 {
			next = min(next, descendantsEvery)
		}
		reserve := k.reserve(&pool.Pool, &d)
		if d.Create == 0 && len(d.Drain) == 0 && reserve == nil {
			continue
		}
		var create []string
		for range d.Create {
			create = append(create, strings.ToLower(rand.Text()))
		}
		if err := k.store.Resize(ctx, pool.ID, create, d.Drain, reserve); err != nil {
			return 0, err
		}
		zerolog.Ctx(ctx).Info().Int64("pool", pool.ID).Strs("create", create).Strs("drain", d.Drain).Int("waiting", pool.Waiting).Msg("resizing pool")
	}
	return next, nil
}
