package leader

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// hurry is how many times as often a replica looks that waits for shards which others are about to give.
const hurry = 5

// errLate is a renewal that took so long that it does not count.
var errLate = errors.New("the renewal took too long")

// run takes part until ctx ends, and leaves then.
func (e *Election) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := e.config.retry()
		lacks, err := e.round(ctx, false)
		if err != nil && ctx.Err() == nil {
			e.logger.Warn().Err(err).Str("lease", e.config.Name).Msg("cannot renew the shards of this replica; retrying")
		}
		e.stopInTime()
		switch left := e.left(); {
		case lacks:
			pause /= hurry
		case left > 0:
			pause = min(pause, left)
		}
		e.wait(ctx, pause)
		e.stopInTime()
	}
	e.leave(context.WithoutCancel(ctx))
}

// left is how long this replica may continue with its work unless it renews.
func (e *Election) left() time.Duration { return e.config.renewal() - time.Since(*e.renewed.Load()) }

// stopInTime stops the work of this replica if it has not renewed for so long that others may soon take its shards.
func (e *Election) stopInTime() {
	if e.left() <= 0 {
		e.end(e.Owned())
	}
}

// leave stops the work of this replica and gives away each shard as soon as its work has stopped.
func (e *Election) leave(ctx context.Context) {
	e.end(e.Owned())
	var idle time.Time
	for {
		_, err := e.round(ctx, true)
		now := time.Now()
		if e.activity().stopping > 0 {
			idle = time.Time{}
		} else if idle.IsZero() {
			idle = now
		}
		if err == nil && !idle.IsZero() && !e.seen.member {
			return
		}
		if !idle.IsZero() && now.Sub(idle) >= e.config.renewal() {
			e.logger.Warn().Err(err).Str("lease", e.config.Name).Msg("releasing shards failed; other replicas take over when the lease expires")
			return
		}
		e.wait(ctx, e.config.retry())
	}
}

// wait waits for the next round.
func (e *Election) wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.ended:
	case <-ctx.Done():
	}
}

// round renews this replica in the table, and changes owners where that is up to it. It repeats what another replica was
// faster with. lacks says that this replica has fewer shards than it should have.
func (e *Election) round(ctx context.Context, leaving bool) (lacks bool, err error) {
	limit := e.left()
	if limit <= 0 {
		limit = e.config.renewal() // nothing is running
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		lacks, err = e.attempt(ctx, leaving)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return lacks, err
		}
	}
}

func (e *Election) attempt(ctx context.Context, leaving bool) (lacks bool, err error) {
	began := time.Now()
	lease, err := e.read(ctx)
	if err != nil {
		return false, err
	}
	now := time.Now()
	t, err := e.tableOf(lease, now)
	if err != nil {
		return false, err
	}
	if t == nil {
		e.end(e.Owned()) // A replica of the version before would lead only if this version had not renewed.
		e.seen.member = false
		return false, nil
	}
	e.bury(t, now)
	if _, found := t.Replicas[e.identity]; leaving && !found {
		e.seen.member = false
		return false, nil
	}
	t.renew(e.identity, int(e.config.Duration/time.Second), leaving)
	t.settle()
	doing := e.activity() // works may stop meanwhile, which the next round sees
	e.giveAway(t, doing)
	if leaving && doing.stopping == 0 {
		t.remove(e.identity)
	}
	if err := e.write(ctx, lease, t); err != nil {
		return false, err
	}
	_, e.seen.member = t.Replicas[e.identity]
	if time.Since(began) >= e.config.renewal() {
		return false, errLate
	}
	if !leaving {
		e.endLost(t, doing)
	}
	e.renewed.Store(&began) // writes of lost shards stay fenced until their terms are over
	if !leaving {
		e.begin(slices.DeleteFunc(t.owned(e.identity), func(shard int) bool { return !doing.idle[shard] }))
	}
	return len(t.owned(e.identity)) < t.quotas()[e.identity], nil
}

// giveAway gives surplus shards of this replica to others, of those for which nothing runs.
func (e *Election) giveAway(t *table, doing activity) {
	for _, shard := range slices.Backward(t.owned(e.identity)) {
		if t.surplus(e.identity) > 0 && doing.idle[shard] {
			t.give(shard)
		}
	}
}

// endLost ends the terms of shards that others own now, and those of the surplus of this replica, the last first: the work that is
// not divided stays with the first.
func (e *Election) endLost(t *table, doing activity) {
	var ending []int
	surplus := t.surplus(e.identity) - doing.stopping
	for _, shard := range slices.Backward(doing.running) {
		switch {
		case t.Owners[shard] != e.identity: // this replica was taken for dead
			ending = append(ending, shard)
		case surplus > 0:
			ending = append(ending, shard)
			surplus--
		}
	}
	e.end(ending)
}
