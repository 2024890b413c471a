package timers

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// lane repeatedly handles one kind of due work.
type lane struct {
	loop    *Loop
	name    string
	read    func(ctx context.Context, until time.Time, limit int) ([]worklists.DueAction, error)
	prepare func(ctx context.Context, due []worklists.DueAction) []*store.Start // nil if nothing has to be prepared

	wake chan struct{} // of capacity one: read again

	mu   sync.Mutex
	next time.Time // GUARDED_BY(mu): when the lane reads again by itself
}

// expect records that work becomes due at a time.
func (l *lane) expect(at time.Time) {
	l.mu.Lock()
	sooner := at.Before(l.next)
	if sooner {
		l.next = at
	}
	l.mu.Unlock()
	if !sooner {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default: // already signalled
	}
}

// run never stops on errors: due work stays due until it is done.
func (l *lane) run(ctx context.Context, grace store.ExecutorGrace) {
	for ctx.Err() == nil {
		if err := l.drain(ctx, grace); err != nil && ctx.Err() == nil {
			l.loop.deps.Logger.Warn().Err(err).Str("lane", l.name).Msg("handling due timers failed; retrying")
		}
		l.await(ctx)
	}
}

// drain handles everything that is due now, and records when more will be due.
func (l *lane) drain(ctx context.Context, grace store.ExecutorGrace) error {
	for {
		now := l.loop.deps.Clock.Now()
		l.lookAgain(now.Add(l.loop.config.Poll)) // before the read: commits from here on are signalled
		found, err := l.read(ctx, now.Add(l.loop.config.Poll), l.loop.config.Batch)
		if err != nil {
			return err
		}
		due := found
		for i := range found {
			if found[i].WakeAt.After(now) {
				l.sooner(found[i].WakeAt)
				due = found[:i]
				break
			}
		}
		if len(due) == 0 {
			return nil
		}
		done, err := l.do(ctx, due, grace)
		if err != nil || done == 0 {
			return err
		}
	}
}

func (l *lane) do(ctx context.Context, due []worklists.DueAction, grace store.ExecutorGrace) (int, error) {
	if latest := l.loop.deps.Clock.Now().Add(l.loop.config.Settle); grace.Until.After(latest) {
		grace.Until = latest // the clock was set back
	}
	var starts []*store.Start
	if l.prepare != nil {
		starts = l.prepare(ctx, due)
	}
	wakes := make([]store.Wake, len(due))
	for i := range due {
		wakes[i] = store.Wake{Ref: due[i].Ref, Due: due[i].Due}
		if starts != nil {
			wakes[i].Start = starts[i]
		}
	}
	return l.loop.deps.Writer.Wake(ctx, wakes, grace)
}

func (l *lane) lookAgain(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = at
}

func (l *lane) sooner(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.Before(l.next) {
		l.next = at
	}
}

// await waits until work is due, at most for the poll. The timer is never longer than the poll, so that a clock jump
// delays work no longer than that.
func (l *lane) await(ctx context.Context) {
	for {
		l.mu.Lock()
		left := l.next.Sub(l.loop.deps.Clock.Now())
		l.mu.Unlock()
		if left <= 0 {
			return
		}
		timer := l.loop.deps.Clock.NewTimer(min(left, l.loop.config.Poll))
		select {
		case <-timer.C():
			timer.Stop()
			return
		case <-l.wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
