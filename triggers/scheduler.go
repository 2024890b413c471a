package triggers

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

const (
	// leaseName is the lease of the scheduler.
	leaseName = "scheduler"
	// takeBatch is how many due triggers one transaction picks up. Their rows are locked until it commits, and
	// deployments of these triggers wait.
	takeBatch = 500
	// forgetEvery is how often old slots are deleted.
	forgetEvery = 10 * time.Minute
	// backfillEvery is how often the runs of backfills are asked for. Nothing notifies the scheduler when a run ends.
	backfillEvery = time.Second
	// undecodable is when a trigger is looked at again that cannot be read. It logs an error each time; a new
	// deployment of the trigger is picked up at once.
	undecodable = time.Hour
)

// scheduler picks up the slots of due triggers and has their runs created, on one replica. Everything it knows is in the
// database: a slot is recorded in the transaction that moves its trigger on, its run is created afterwards, under a name
// that follows from the slot, and the slot is settled at last. After a crash, any step may be repeated.
type scheduler struct {
	lifecycle.Background
	config  Config
	store   *store.Store
	planner planner
	starter *starter
	// versions picks up new versions of artifacts alongside the loop: an outage of the artifact service delays no schedule.
	versions *versions
	leases   leased.Leases
	clock    clock.Clock
	logger   zerolog.Logger
	meters   *meters
	wake     chan struct{} // of capacity one: something has changed

	// Of the loop alone: when backfills were looked at last, and whether any works.
	backfilled  time.Time
	backfilling bool

	mu   sync.Mutex
	busy map[int64]bool // triggers whose runs are being created; GUARDED_BY(mu)
}

var _ lifecycle.Part = (*scheduler)(nil)

// nudge makes the scheduler look again.
func (s *scheduler) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Start implements lifecycle.Part.
func (s *scheduler) Start(ctx context.Context) error {
	return s.Run(authz.AsService(s.logger.WithContext(ctx), serviceName), leased.While(s.leases, leaseName, s.config.Lease, s.work))
}

// work schedules until the lease or the process ends. It logs errors and retries.
func (s *scheduler) work(ctx context.Context) error {
	s.mu.Lock()
	// From an earlier term of the lease, all starts have ended: work waits for them.
	s.busy = map[int64]bool{}
	s.mu.Unlock()
	var starts sync.WaitGroup
	defer starts.Wait()
	starts.Go(func() { s.versions.work(ctx) })
	retries := backoff.New(100*time.Millisecond, s.config.Poll)
	var forgotten time.Time
	for ctx.Err() == nil {
		pause, err := s.look(ctx, &starts, &forgotten)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			pause = retries.Next()
			s.logger.Warn().Err(err).Dur("pause", pause).Msg("scheduling triggers failed; retrying")
		} else {
			retries.Reset()
		}
		if pause <= 0 {
			continue
		}
		_ = clock.Await(ctx, s.clock, pause, s.wake) // the loop sees the end of the context
	}
	return nil
}

// look does what is due and returns how long there is nothing to do. While nothing is due, it costs one statement.
func (s *scheduler) look(ctx context.Context, starts *sync.WaitGroup, forgotten *time.Time) (time.Duration, error) {
	now := s.clock.Now()
	slot, retry, err := s.store.Wake(ctx, s.working())
	if err != nil {
		return 0, err
	}
	taken := slot != nil && !slot.After(now)
	if taken {
		if err := s.take(ctx, now); err != nil {
			return 0, err
		}
	}
	full := false
	// Only then is a slot pending: a look without work costs the one statement above.
	if taken || (retry != nil && !retry.After(now)) {
		if full, err = s.launch(ctx, now, starts); err != nil {
			return 0, err
		}
	}
	if s.config.KeepSlots > 0 && (now.Sub(*forgotten) >= forgetEvery || now.Before(*forgotten)) {
		*forgotten = now
		if _, err := s.store.Forget(ctx, now.Add(-s.config.KeepSlots), 10_000); err != nil {
			return 0, err
		}
		if err := s.store.ForgetWatches(ctx, now.Add(-s.config.KeepSlots)); err != nil {
			return 0, err
		}
	}
	pause := s.config.Poll
	if since := now.Sub(s.backfilled); since >= backfillEvery || since < 0 {
		working, err := s.advanceBackfills(ctx, now)
		if err != nil {
			return 0, err
		}
		s.backfilled, s.backfilling = now, working > 0
	}
	if s.backfilling {
		pause = min(pause, backfillEvery)
	}
	if full {
		return pause, nil // until one of them is done
	}
	if slot, retry, err = s.store.Wake(ctx, s.working()); err != nil {
		return 0, err
	}
	// The time is read again: what was done above took some of it.
	for _, at := range []*time.Time{slot, retry} {
		if at != nil {
			pause = min(pause, at.Sub(s.clock.Now()))
		}
	}
	return pause, nil
}

// take picks up the slots of all due triggers.
func (s *scheduler) take(ctx context.Context, now time.Time) error {
	for {
		skipped := 0
		count, err := s.store.TakeDue(ctx, now, takeBatch, func(t *store.Trigger) store.Change {
			d, err := s.planner.decode(t)
			if err != nil {
				s.logger.Error().Err(err).Str("trigger", t.Name).Str("task", t.Task.Name).Msg("trigger not scheduled: it cannot be read")
				later := now.Add(undecodable)
				t.NextFireAt = &later
				return store.Change{Trigger: t}
			}
			fires := d.due(now, s.config.LateAfter)
			for _, f := range fires {
				if f.State == store.Skipped {
					skipped++
				}
			}
			return store.Change{Trigger: t, Fires: fires}
		})
		if err != nil {
			return err
		}
		for range skipped {
			s.meters.settled(ctx, "skipped")
		}
		if count > 0 {
			failpoint.Here("trigger.after-take")
		}
		if count < takeBatch {
			return nil
		}
	}
}

// launch starts creating runs, of as many triggers at once as are allowed, and reports whether no more are. The slots of
// one trigger are run in order.
func (s *scheduler) launch(ctx context.Context, now time.Time, starts *sync.WaitGroup) (full bool, err error) {
	busy := s.working()
	free := s.config.Parallel - len(busy)
	if free <= 0 {
		return true, nil
	}
	ids, err := s.store.PendingTriggers(ctx, now, busy, free)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		s.mu.Lock()
		s.busy[id] = true
		s.mu.Unlock()
		starts.Go(func() {
			defer s.done(id)
			if err := s.starter.startAll(ctx, id); err != nil && ctx.Err() == nil {
				s.logger.Warn().Err(err).Msg("starting the runs of a trigger failed; retrying")
				_ = clock.Sleep(ctx, s.clock, time.Second) // the database has a moment; the context's end is seen by the loop
			}
		})
	}
	return len(ids) == free, nil
}

// done makes a trigger available again and wakes the loop, which may have stopped because all starts were in use.
func (s *scheduler) done(id int64) {
	s.mu.Lock()
	delete(s.busy, id)
	s.mu.Unlock()
	s.nudge()
}

// working are the ids of triggers whose runs are being created.
func (s *scheduler) working() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]int64, 0, len(s.busy))
	for id := range s.busy {
		ids = append(ids, id)
	}
	return ids
}
