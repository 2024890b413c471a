package events

import (
	"context"
	"sync"

	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Sink records transitions. While one call to the state machine is under way, what arrives gathers for the next: a lone
// caller waits for nobody, and a crowd shares calls. There is one call at a time, so the order of arrival is the order of
// recording.
type Sink struct {
	config Config
	engine Engine
	clock  clock.Clock
	logger zerolog.Logger

	mu       sync.Mutex
	waiting  []*entry // GUARDED_BY(mu): in order of arrival
	flushing bool     // GUARDED_BY(mu): a goroutine takes from waiting until it is empty
}

// entry is what one caller reports and waits for.
type entry struct {
	ctx         context.Context //nolint:containedctx // its end is what the flush watches
	transitions []*enginev1.Transition
	done        chan struct{} // closed when outcomes and err are set
	outcomes    []enginev1.TransitionOutcome
	err         error
}

// Record records the transitions in their order and tells, for each, what became of it, after the commit. Outages are
// waited out until ctx ends. After an error nothing is known of the transitions; recording them again does no harm.
func (s *Sink) Record(ctx context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error) {
	if len(transitions) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := &entry{ctx: ctx, transitions: transitions, done: make(chan struct{})}
	s.add(e)
	select {
	case <-e.done:
		return e.outcomes, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Sink) add(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, e)
	if !s.flushing {
		s.flushing = true
		go s.flushAll()
	}
}

// flushAll records until nobody waits.
func (s *Sink) flushAll() {
	for batch := s.take(); len(batch) > 0; batch = s.take() {
		s.flush(batch)
	}
}

// take removes the next batch: whole entries, up to MaxBatch transitions. Callers that have gone are dropped. An empty
// batch ends the flushing.
func (s *Sink) take() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var batch []*entry
	size, taken := 0, 0
	for _, e := range s.waiting {
		if e.ctx.Err() == nil {
			if len(batch) > 0 && size+len(e.transitions) > s.config.MaxBatch {
				break
			}
			batch = append(batch, e)
			size += len(e.transitions)
		}
		taken++
	}
	clear(s.waiting[:taken])
	s.waiting = s.waiting[taken:]
	if len(batch) == 0 {
		s.waiting, s.flushing = nil, false
	}
	return batch
}

func (e *entry) finish(outcomes []enginev1.TransitionOutcome, err error) {
	e.outcomes, e.err = outcomes, err
	close(e.done)
}

// Waiting is how many callers wait for the next call, for metrics and tests.
func (s *Sink) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}
