// Package leased runs what one process of an installation does for all: a loop or a single step while it holds a
// lease, the passes of such a loop, and deletions in batches. It builds on internal/work/lifecycle and internal/work/clock.
package leased

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Leases runs work while a lease is held; pgdb.Leases is one.
type Leases interface {
	Hold(ctx context.Context, name string, d time.Duration, work func(context.Context) error) error
}

// Loop is a part that works while it holds a lease. All fields are required.
type Loop struct {
	lifecycle.Background
	Leases Leases
	// Name is that of the lease, Length how long its holder may be silent.
	Name   string
	Length time.Duration
	// Work works until its context ends. If it returns earlier, it is started again after a pause.
	Work   func(context.Context) error
	Logger zerolog.Logger
}

var _ lifecycle.Part = (*Loop)(nil)

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	return l.Run(l.Logger.WithContext(ctx), While(l.Leases, l.Name, l.Length, l.Work))
}

// While returns a loop for lifecycle.Background that works while it holds a lease: for parts with other loops alongside it.
// length and work are as in Loop. It logs to the logger of its context.
func While(leases Leases, name string, length time.Duration, work func(context.Context) error) func(context.Context) {
	return func(ctx context.Context) {
		if err := leases.Hold(ctx, name, length, work); err != nil {
			zerolog.Ctx(ctx).Error().Err(err).Str("lease", name).Msg("loop stopped")
		}
	}
}

// Once waits for a lease and does something once while it holds it. If the lease is lost before do ends, the context of do ends,
// and do runs again once the lease is held again.
func Once(ctx context.Context, leases Leases, name string, length time.Duration, do func(context.Context) error) error {
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	var result error
	err := leases.Hold(waiting, name, length, func(ctx context.Context) error {
		result = do(ctx)
		if ctx.Err() == nil {
			enough()
		}
		return result
	})
	if result == nil {
		result = err
	}
	return result
}

// Every returns work that makes a pass at once and after each pause. An error of a pass is logged: what it left, the next
// one does.
func Every(clk clock.Clock, pause time.Duration, pass func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			if err := pass(ctx); err != nil && ctx.Err() == nil {
				zerolog.Ctx(ctx).Warn().Err(err).Dur("next_in", pause).Msg("pass failed; retrying")
			}
			if clock.Sleep(ctx, clk, pause) != nil {
				return nil //nolint:nilerr // the context has ended, as it was asked to
			}
		}
	}
}

// Drain repeats a step that handles at most size things until it handles fewer, and returns how many it handled.
func Drain(size int, step func(size int) (int, error)) (total int, err error) {
	for {
		n, err := step(size)
		total += n
		if err != nil || n < size {
			return total, err
		}
	}
}
