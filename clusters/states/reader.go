package states

import (
	"context"
	"sync"
	"time"
)

// believed is how long an answer is used again.
const believed = time.Second

// Source reads the states of all clusters, in alphabetical order; store.Store of clusters does.
type Source interface {
	States(ctx context.Context, now time.Time) ([]State, error)
}

// Reader reads states, at most once a second. It is safe for concurrent use.
type Reader struct {
	source  Source
	now     func() time.Time
	changed chan struct{}

	mu     sync.Mutex
	states []State   // GUARDED_BY(mu)
	readAt time.Time // GUARDED_BY(mu): zero if they must be read again
	failed time.Time // GUARDED_BY(mu): when they could not be read last
}

// NewReader returns a reader of a source.
func NewReader(source Source, now func() time.Time) *Reader {
	return &Reader{source: source, now: now, changed: make(chan struct{}, 1)}
}

// All returns the states of all clusters in alphabetical order, as they were at most a second ago. The caller must not change them.
func (r *Reader) All(ctx context.Context) ([]State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.readAt.IsZero() || now.Sub(r.readAt) >= believed || now.Before(r.readAt) {
		states, err := r.source.States(ctx, now)
		if err != nil {
			r.failed = r.now()
			return nil, err
		}
		for i := range states {
			states[i].unheard = r.failed
		}
		r.states, r.readAt = states, now
	}
	return r.states, nil
}

// Forget reads the states again at the next call. It is called when an operator has changed one, or a controller has connected.
func (r *Reader) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readAt = time.Time{}
	select {
	case r.changed <- struct{}{}:
	default: // one who looks later sees this change, too
	}
}

// Changed receives after Forget. It is for one receiver.
func (r *Reader) Changed() <-chan struct{} { return r.changed }
