package clock

import (
	"sync"
	"time"
)

// Fake is a clock that moves only when it is stepped. Its zero value is not usable; call NewFake.
type Fake struct {
	mu     sync.Mutex
	now    time.Time                // GUARDED_BY(mu)
	timers map[*fakeTimer]time.Time // GUARDED_BY(mu): when each armed timer fires
}

var _ Clock = (*Fake)(nil)

// NewFake returns a clock that is set to start.
func NewFake(start time.Time) *Fake {
	return &Fake{now: start.UTC().Truncate(time.Microsecond), timers: map[*fakeTimer]time.Time{}}
}

// Now implements Clock.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Step moves the clock, backwards too, and fires every timer that is due.
func (f *Fake) Step(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
	for timer, due := range f.timers {
		if !due.After(f.now) {
			delete(f.timers, timer)
			timer.fire(f.now)
		}
	}
}

// Timers is the number of armed timers; a test waits on it before it steps the clock.
func (f *Fake) Timers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.timers)
}

// NewTimer implements Clock.
func (f *Fake) NewTimer(d time.Duration) Timer {
	timer := &fakeTimer{clock: f, ch: make(chan time.Time, 1)}
	timer.Reset(d)
	return timer
}

type fakeTimer struct {
	clock *Fake
	ch    chan time.Time
}

func (t *fakeTimer) C() <-chan time.Time { return t.ch }

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, armed := t.clock.timers[t]
	delete(t.clock.timers, t)
	return armed
}

func (t *fakeTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, armed := t.clock.timers[t]
	if d <= 0 {
		delete(t.clock.timers, t)
		t.fire(t.clock.now)
		return armed
	}
	t.clock.timers[t] = t.clock.now.Add(d)
	return armed
}

func (t *fakeTimer) fire(now time.Time) {
	select {
	case t.ch <- now:
	default: // an unread tick is still there; time.Timer drops it too
	}
}
