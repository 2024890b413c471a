package clock

import (
	"context"
	"time"
)

// Sleep waits for d by the clock and returns nil, or the error of the context when that ends first.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
