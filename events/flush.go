package events

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// flush records a batch and answers its callers. It tries again while the state machine is away and somebody waits. When
// the batch as a whole is refused, each caller's part is recorded alone, so that a wrong one disturbs no other.
func (s *Sink) flush(batch []*entry) {
	ctx, release := whileAnyWaits(batch)
	defer release()
	backoff := s.config.FirstBackoff
	for {
		outcomes, err := s.call(ctx, batch)
		if err == nil {
			deal(batch, outcomes)
			return
		}
		if !transient(err) {
			s.separate(batch, err)
			return
		}
		if ctx.Err() != nil {
			abandon(batch, err)
			return
		}
		s.logger.Warn().Err(err).Int("callers", len(batch)).Dur("pause", backoff).Msg("transitions not recorded; trying again")
		if !s.pause(ctx, backoff) {
			abandon(batch, err)
			return
		}
		batch = slices.DeleteFunc(batch, func(e *entry) bool {
			gone := e.ctx.Err() != nil
			if gone {
				e.finish(nil, err)
			}
			return gone
		})
		if len(batch) == 0 {
			return
		}
		backoff = min(2*backoff, s.config.MaxBackoff)
	}
}

func (s *Sink) separate(batch []*entry, err error) {
	if len(batch) == 1 {
		batch[0].finish(nil, err)
		return
	}
	for _, e := range batch {
		s.flush([]*entry{e})
	}
}

func (s *Sink) call(ctx context.Context, batch []*entry) ([]enginev1.TransitionOutcome, error) {
	request := &enginev1.RecordTransitionsRequest{}
	for _, e := range batch {
		request.Transitions = append(request.Transitions, e.transitions...)
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	response, err := s.engine.RecordTransitions(ctx, request)
	if err != nil {
		return nil, err
	}
	if got, want := len(response.GetOutcomes()), len(request.GetTransitions()); got != want {
		return nil, rpc.Internal(nil, "record transitions: %d outcomes for %d transitions", got, want)
	}
	return response.GetOutcomes(), nil
}

// pause waits, and tells whether anybody still does.
func (s *Sink) pause(ctx context.Context, d time.Duration) bool {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// transient tells whether the same call may succeed later. A canceled call was cut off by the other side, since our own
// context ends only when nobody waits.
func transient(err error) bool {
	return rpc.IsRetryable(err) || rpc.KindOf(err) == rpc.KindCanceled
}

func deal(batch []*entry, outcomes []enginev1.TransitionOutcome) {
	for _, e := range batch {
		n := len(e.transitions)
		e.finish(outcomes[:n:n], nil)
		outcomes = outcomes[n:]
	}
}

func abandon(batch []*entry, err error) {
	for _, e := range batch {
		e.finish(nil, err)
	}
}

// whileAnyWaits is a context that ends with the last of the callers' contexts. release must be called.
func whileAnyWaits(batch []*entry) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(batch[0].ctx))
	var waiting atomic.Int64
	waiting.Store(int64(len(batch)))
	stops := make([]func() bool, len(batch))
	for i, e := range batch {
		stops[i] = context.AfterFunc(e.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
