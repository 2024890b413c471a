package limits

import (
	"sync"
	"time"
)

// rate is token buckets, one for each key. A bucket is kept as the time at which it is full again, so one that is full needs no
// memory. It is safe for concurrent use.
type rate struct {
	every time.Duration // in which a bucket gains a token; 0 means no limit
	in    time.Duration // in which it gains what the limit is
	size  int

	mu    sync.Mutex
	full  map[string]time.Time // GUARDED_BY(mu)
	sweep int                  // GUARDED_BY(mu): the number of keys at which those of full buckets are dropped
}

// minSweep is how many keys are kept before any is dropped.
const minSweep = 1024

// newRate returns buckets of a size that gain count tokens in a time.
func newRate(count int, in time.Duration, size int) *rate {
	r := &rate{in: in, size: size, full: map[string]time.Time{}, sweep: minSweep}
	if count > 0 {
		r.every = in / time.Duration(count)
	}
	return r
}

// take takes a token. If there is none, it returns the time until there is.
func (r *rate) take(key string, now time.Time) (wait time.Duration) {
	if r.every == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	full, known := r.full[key]
	if !known || full.Before(now) {
		full = now
	}
	full = full.Add(r.every)
	if wait = full.Sub(now) - time.Duration(r.size)*r.every; wait > 0 {
		return wait
	}
	r.full[key] = full
	r.drop(now)
	return 0
}

// drop forgets full buckets, each time their number has doubled.
func (r *rate) drop(now time.Time) {
	if len(r.full) < r.sweep {
		return
	}
	for key, full := range r.full {
		if !full.After(now) {
			delete(r.full, key)
		}
	}
	r.sweep = max(minSweep, 2*len(r.full))
}
