package events

import (
	"context"
	"slices"
	"sync/atomic"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// flush records a batch and answers its callers. It retries while the runs service is not available and a caller waits.
// When the batch as a whole is refused, each caller's part is recorded alone, so that a wrong one fails alone.
func (s *Sink) flush(entries []*entry) {
	ctx, release := whileAnyWaits(entries)
	defer release()
	retries := s.config.Backoff.New()
	for {
		outcomes, err := s.call(ctx, entries)
		if err == nil {
			deal(entries, outcomes)
			return
		}
		if !transient(err) {
			s.separate(entries, err)
			return
		}
		if ctx.Err() != nil {
			abandon(entries, err)
			return
		}
		pause := retries.Next()
		s.logger.Warn().Err(err).Int("callers", len(entries)).Dur("pause", pause).Msg("recording transitions failed; retrying")
		if clock.Sleep(ctx, s.clock, pause) != nil {
			abandon(entries, err)
			return
		}
		entries = slices.DeleteFunc(entries, func(e *entry) bool {
			gone := e.Ctx.Err() != nil
			if gone {
				e.Answer(nil, err)
			}
			return gone
		})
		if len(entries) == 0 {
			return
		}
	}
}

func (s *Sink) separate(entries []*entry, err error) {
	if len(entries) == 1 {
		entries[0].Answer(nil, err)
		return
	}
	for _, e := range entries {
		s.flush([]*entry{e})
	}
}

func (s *Sink) call(ctx context.Context, entries []*entry) ([]enginev1.TransitionOutcome, error) {
	request := &enginev1.RecordTransitionsRequest{}
	for _, e := range entries {
		request.Transitions = append(request.Transitions, e.Value...)
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

// transient reports whether the same call may succeed later. A canceled call was cut off by the other side, since our
// own context ends only when no caller waits.
func transient(err error) bool {
	return rpc.IsRetryable(err) || rpc.KindOf(err) == rpc.KindCanceled
}

func deal(entries []*entry, outcomes []enginev1.TransitionOutcome) {
	for _, e := range entries {
		n := len(e.Value)
		e.Answer(outcomes[:n:n], nil)
		outcomes = outcomes[n:]
	}
}

func abandon(entries []*entry, err error) {
	for _, e := range entries {
		e.Answer(nil, err)
	}
}

// whileAnyWaits returns a context that ends with the last of the callers' contexts. release must be called.
func whileAnyWaits(entries []*entry) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(entries[0].Ctx))
	var waiting atomic.Int64
	waiting.Store(int64(len(entries)))
	stops := make([]func() bool, len(entries))
	for i, e := range entries {
		stops[i] = context.AfterFunc(e.Ctx, func() {
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
