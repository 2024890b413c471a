package clock

import (
	"context"
	"time"
)

// Sleep waits for d by the clock and returns nil, or the error of the context when that ends first.
func Sleep(ctx context.Context, c Clock, d time.Duration) error { return Await(ctx, c, d, nil) }

// Await waits like Sleep, but not beyond a signal.
func Await(ctx context.Context, c Clock, d time.Duration, signal <-chan struct{}) error {
	return AwaitThat(ctx, c, d, signal, func() bool { return true })
}

// AwaitThat waits like Await for a signal that counts. It calls counts at each signal.
func AwaitThat(ctx context.Context, c Clock, d time.Duration, signal <-chan struct{}, counts func() bool) error {
	timer := c.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-signal:
			if counts() {
				return ctx.Err()
			}
		case <-timer.C():
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
