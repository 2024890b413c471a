package dispatch

import (
	"context"
	"sync"
)

// shared lets callers share reads: what is asked while one read runs is read together in the next. No one is answered by a read that began
// before the question. It is safe for concurrent use.
type shared[Q, A any] struct {
	read func(ctx context.Context, asked []Q) (A, error)

	mu        sync.Mutex
	gathering *round[Q, A]    // GUARDED_BY(mu): the one that does not read yet; nil for none
	before    <-chan struct{} // GUARDED_BY(mu): closed when the round before that one has read
}

// round is one read.
type round[Q, A any] struct {
	asked  []Q
	done   chan struct{}
	answer A // set when done is closed, as err
	err    error
}

// ask returns the answer to this question and those that were asked with it. It is shared and read only.
func (s *shared[Q, A]) ask(ctx context.Context, question Q) (A, error) {
	joined := s.join(ctx, question)
	select {
	case <-joined.done:
		return joined.answer, joined.err
	case <-ctx.Done():
		var none A
		return none, context.Cause(ctx)
	}
}

func (s *shared[Q, A]) join(ctx context.Context, question Q) *round[Q, A] {
	s.mu.Lock()
	defer s.mu.Unlock()
	joined := s.gathering
	if joined == nil {
		joined = &round[Q, A]{done: make(chan struct{})}
		go s.run(context.WithoutCancel(ctx), s.before, joined) // for others too
		s.gathering, s.before = joined, joined.done
	}
	joined.asked = append(joined.asked, question)
	return joined
}

// run waits for the round before, reads, and answers all that joined.
func (s *shared[Q, A]) run(ctx context.Context, before <-chan struct{}, now *round[Q, A]) {
	if before != nil {
		<-before
	}
	s.mu.Lock()
	s.gathering = nil
	s.mu.Unlock()
	defer close(now.done)
	now.answer, now.err = s.read(ctx, now.asked)
}
