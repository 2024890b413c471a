package stored

import (
	"sync"
	"time"
)

const (
	// readAge is how long a measurement that was read counts before it is read again.
	readAge = 2 * time.Second
	// maxKnown bounds the projects, the callers and the prefixes that are remembered.
	maxKnown = 10_000
)

// recent remembers what was read, for readAge. It is safe for concurrent use.
type recent[T any] struct {
	mu    sync.Mutex
	known map[string]read[T] // GUARDED_BY(mu)
}

// read is a value and when it was read.
type read[T any] struct {
	value T
	at    time.Time
}

// get returns what is remembered of a key, or reads it.
func (r *recent[T]) get(key string, now time.Time, from func() (T, error)) (T, error) {
	r.mu.Lock()
	known, found := r.known[key]
	r.mu.Unlock()
	if found && now.Sub(known.at) < readAge {
		return known.value, nil
	}
	value, err := from()
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxKnown {
		r.known = map[string]read[T]{}
	}
	r.known[key] = read[T]{value, now}
	return value, nil
}

func (r *recent[T]) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}
