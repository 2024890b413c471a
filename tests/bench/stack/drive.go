package stack

import (
	"errors"
	"sync"
	"time"
)

// Each makes n calls, at most concurrency at once, and returns how long each took. It stops at the first failure.
// argument is called outside of the measured time, by several goroutines.
func Each[T any](n, concurrency int, argument func(int) T, do func(T) error) ([]time.Duration, error) {
	var (
		mu       sync.Mutex
		taken    = make([]time.Duration, 0, n)
		failures []error
		next     int
		group    sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= n || len(failures) > 0 {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(n, concurrency) {
		group.Go(func() {
			for i, more := take(); more; i, more = take() {
				a := argument(i)
				began := time.Now()
				err := do(a)
				elapsed := time.Since(began)
				mu.Lock()
				if err != nil {
					failures = append(failures, err)
				}
				taken = append(taken, elapsed)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return taken, errors.Join(failures...)
}
