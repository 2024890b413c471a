package events

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/batch"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Sink reports transitions to the runs service, in batches: while one call is in flight, what arrives gathers for the
// next. There is one call at a time, so the order of arrival is the order of recording.
type Sink struct {
	config  Config
	engine  Engine
	clock   clock.Clock
	logger  zerolog.Logger
	batches *batch.Batcher[[]*enginev1.Transition, []enginev1.TransitionOutcome]
}

// entry is what one caller reports and waits for.
type entry = batch.Item[[]*enginev1.Transition, []enginev1.TransitionOutcome]

func newSink(config Config, deps Deps) *Sink {
	s := &Sink{config: config, engine: deps.Engine, clock: deps.Clock, logger: deps.Logger.With().Str("service", "events").Logger()}
	s.batches = batch.New(batch.Config[[]*enginev1.Transition, []enginev1.TransitionOutcome]{
		MaxWeight: config.MaxBatch,
		Weight:    func(transitions []*enginev1.Transition) int { return len(transitions) },
		// A flush lasts as long as one of its callers waits.
		Flush: func(_ context.Context, entries []*entry) { s.flush(entries) },
	})
	return s
}

// Record records the transitions in their order, as one report, and returns the outcome of each, after the commit. It retries
// through outages until ctx ends. After an error the outcomes are unknown; recording the transitions again does no harm. Record
// marks the first transition as the beginning of the report.
func (s *Sink) Record(ctx context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error) {
	if len(transitions) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	transitions[0].BeginsReport = true // calls carry the reports of many
	outcomes, err := s.batches.Submit(ctx, transitions)
	switch {
	case errors.Is(err, batch.ErrAbandoned):
		return nil, context.Cause(ctx)
	case errors.Is(err, batch.ErrStopped):
		return nil, rpc.Unavailable(rpc.ErrShuttingDown, "the server is shutting down")
	}
	return outcomes, err
}

// Waiting is how many callers wait for the next call, for metrics and tests.
func (s *Sink) Waiting() int { return s.batches.Waiting() }
