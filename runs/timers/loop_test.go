package timers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/timers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a fake database: when each action is due, and when it was done.
type table struct {
	mu     sync.Mutex
	clock  *clock.Fake
	due    map[int64]time.Time // GUARDED_BY(mu)
	done   map[int64]time.Time // GUARDED_BY(mu)
	failed bool                // GUARDED_BY(mu)
	reads  int                 // GUARDED_BY(mu)
	ready  chan struct{}
	news   time.Time // GUARDED_BY(mu)
	until  time.Time // of the last grace; GUARDED_BY(mu)
}

func (f *table) Due(_ context.Context, until time.Time, limit int) ([]worklists.DueAction, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.failed {
		return nil, errors.New("the database is unavailable")
	}
	var found []worklists.DueAction
	for id, at := range f.due {
		if !at.After(until) && len(found) < limit {
			found = append(found, worklists.DueAction{Ref: schema.Ref{ID: id}, WakeAt: at, Due: schema.DueDeadline})
		}
	}
	return found, nil
}

func (f *table) Starts(context.Context, time.Time, int) ([]worklists.DueAction, error) {
	return nil, nil
}

func (f *table) Wake(_ context.Context, due []store.Wake, grace store.ExecutorGrace) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = grace.Until
	for _, w := range due {
		delete(f.due, w.ID)
		f.done[w.ID] = f.clock.Now()
	}
	return len(due), nil
}

func (f *table) Prepare(context.Context, []worklists.DueAction) []*store.Start { return nil }

func (f *table) Hold(ctx context.Context, _ string, _ time.Duration, work func(context.Context) error) error {
	return work(ctx)
}

func (f *table) Ready() <-chan struct{} { return f.ready }

func (f *table) Take() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.news
	f.news = time.Time{}
	return at
}

// add makes an action due, and signals as a commit does.
func (f *table) add(id int64, at time.Time) {
	f.mu.Lock()
	f.due[id], f.news = at, at
	f.mu.Unlock()
	f.ready <- struct{}{}
}

func (f *table) doneAt(id int64) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done[id]
}

func (f *table) setFailed(failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = failed
}

func newTable(t *testing.T) *table {
	t.Helper()
	f := &table{clock: clock.NewFake(time.Unix(1000, 0)), due: map[int64]time.Time{}, done: map[int64]time.Time{}, ready: make(chan struct{}, 1)}
	loop := timers.New(timers.DefaultConfig(), timers.Deps{
		Reader: f, Writer: f, Starter: f, Leases: f, Signals: f, Clock: f.clock, Logger: zerolog.Nop(),
	})
	require.NoError(t, loop.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, loop.Stop(context.WithoutCancel(t.Context()))) })
	f.settle(t)
	return f
}

// settle waits until both lanes are idle before the clock moves.
func (f *table) settle(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return f.clock.Timers() == 2 && len(f.ready) == 0 }, 5*time.Second, time.Millisecond)
}

func (f *table) awaitDone(t *testing.T, id int64) time.Time {
	t.Helper()
	require.Eventually(t, func() bool { return !f.doneAt(id).IsZero() }, 5*time.Second, time.Millisecond)
	return f.doneAt(id)
}

func TestDueActionsAreHandledOnTime(t *testing.T) {
	f := newTable(t)
	at := f.clock.Now().Add(100 * time.Millisecond) // before the next poll
	f.add(1, at)
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.reads > 0 && f.news.IsZero() }, 5*time.Second, time.Millisecond)
	f.settle(t)
	f.clock.Step(99 * time.Millisecond)
	f.settle(t)
	require.Zero(t, f.doneAt(1))
	for f.doneAt(1).IsZero() && f.clock.Now().Before(at.Add(time.Second)) {
		f.clock.Step(time.Millisecond)
		f.settle(t)
	}
	require.WithinDuration(t, at, f.awaitDone(t, 1), 2*time.Millisecond)
}

func TestOverdueActionsAreHandledAtOnce(t *testing.T) {
	f := newTable(t)
	f.add(1, f.clock.Now())
	f.awaitDone(t, 1)
}

func TestOutageIsCaughtUp(t *testing.T) {
	f := newTable(t)
	f.setFailed(true)
	for id := range int64(2000) { // more than a batch
		f.mu.Lock()
		f.due[id] = f.clock.Now().Add(time.Second)
		f.mu.Unlock()
	}
	for range 10 {
		f.clock.Step(time.Second)
		f.settle(t)
	}
	f.setFailed(false)
	f.clock.Step(timers.DefaultConfig().Poll)
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.done) == 2000 }, 5*time.Second, time.Millisecond)
}

func TestClockJumpDelaysAtMostOnePoll(t *testing.T) {
	f := newTable(t)
	f.add(1, f.clock.Now().Add(time.Hour))
	f.settle(t)
	f.clock.Step(-30 * time.Minute)
	f.settle(t)
	require.Zero(t, f.doneAt(1))
	f.add(2, f.clock.Now())
	f.awaitDone(t, 2)
	f.mu.Lock()
	require.Equal(t, f.clock.Now().Add(timers.DefaultConfig().Settle), f.until, "executors have no longer than after a start")
	f.mu.Unlock()
	f.clock.Step(2 * time.Hour)
	f.awaitDone(t, 1)
}

func TestConfigNamesTheWrongField(t *testing.T) {
	for field, change := range map[string]func(*timers.Config){
		"poll": func(c *timers.Config) { c.Poll = 0 }, "batch": func(c *timers.Config) { c.Batch = 0 },
		"lease": func(c *timers.Config) { c.Lease = time.Second }, "grace": func(c *timers.Config) { c.Grace = -1 },
		"settle": func(c *timers.Config) { c.Settle = -1 },
	} {
		config := timers.DefaultConfig()
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}
