// Package backoff computes the pauses between the retries of an operation that fails: they double up to a maximum and
// vary by a quarter, so that callers that failed together do not retry together. The caller decides what is worth a
// retry and when to give up.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// After returns the pause after a number of failures in a row, counted from 1: first after one, doubled with each
// further one, at most limit, and then varied by up to a quarter in both directions.
func After(first, limit time.Duration, failures int) time.Duration {
	pause := limit
	if shift := max(0, failures-1); shift < 63 && first <= limit>>shift {
		pause = first << shift
	}
	if pause <= 0 {
		return 0
	}
	return pause - pause/4 + rand.N(pause/2+1) //nolint:gosec // spreads load; nothing depends on its being unguessable
}

// Longest is the longest pause that After returns with a limit.
func Longest(limit time.Duration) time.Duration { return limit - limit/4 + limit/2 }

// Backoff counts the failures of one operation. It is not safe for concurrent use.
type Backoff struct {
	first, limit time.Duration
	failures     int
}

// New returns a Backoff without failures so far.
func New(first, limit time.Duration) *Backoff { return &Backoff{first: first, limit: limit} }

// Next counts a failure and returns the pause after it, for a caller that logs the pause or waits in a select.
func (b *Backoff) Next() time.Duration {
	b.failures++
	return After(b.first, b.limit, b.failures)
}

// Wait counts a failure and sleeps for the pause after it. It returns the error of the context when that ends first.
func (b *Backoff) Wait(ctx context.Context, clk clock.Clock) error {
	return clock.Sleep(ctx, clk, b.Next())
}

// Failures returns how many failures were counted since the start or the last Reset.
func (b *Backoff) Failures() int { return b.failures }

// Reset clears the count of failures; call it after a success.
func (b *Backoff) Reset() { b.failures = 0 }
