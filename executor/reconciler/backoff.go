package reconciler

import (
	"math/rand/v2"
	"time"
)

// backoff is the pause after the nth failure in a row, counted from 1: it doubles up to limit and varies by a quarter,
// so that those who failed together do not come back together.
func backoff(base, limit time.Duration, n int) time.Duration {
	pause := limit
	if shift := n - 1; shift < 20 && base<<shift < limit {
		pause = base << shift
	}
	return pause*3/4 + rand.N(pause/2+1) //nolint:gosec // spreads load
}
