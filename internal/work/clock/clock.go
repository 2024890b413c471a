// Package clock is the only source of time for the services, so that tests can step it. It imports no other package of
// this module.
package clock

import "time"

// Clock is a source of time and timers.
type Clock interface {
	// Now is the current time in UTC, cut to microseconds as Postgres keeps it.
	Now() time.Time
	// NewTimer fires once after d.
	NewTimer(d time.Duration) Timer
}

// Timer is the part of time.Timer that services use.
type Timer interface {
	// C delivers the time at which the timer fired.
	C() <-chan time.Time
	// Stop prevents the timer from firing and reports whether it did so.
	Stop() bool
	// Reset lets a stopped or fired timer fire again after d.
	Reset(d time.Duration) bool
}

// System is the machine's clock.
type System struct{}

var _ Clock = System{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// NewTimer implements Clock.
func (System) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

type systemTimer struct{ *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.Timer.C }
