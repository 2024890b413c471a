package retention

import (
	"context"
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// loop is the keeper's background work.
type loop struct {
	mu     sync.Mutex
	cancel context.CancelFunc // GUARDED_BY(mu)
	done   chan struct{}      // GUARDED_BY(mu)
}

var _ lifecycle.Part = (*Keeper)(nil)

// Start implements lifecycle.Part. What a process before us began is finished even where retention is switched off now.
func (k *Keeper) Start(ctx context.Context) error {
	k.loop.mu.Lock()
	defer k.loop.mu.Unlock()
	if k.loop.cancel != nil {
		return nil
	}
	ctx, k.loop.cancel = context.WithCancel(k.deps.Logger.WithContext(context.WithoutCancel(ctx)))
	k.loop.done = make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		for k.pause(ctx, k.config.Interval) {
			k.once(ctx)
		}
	}(k.loop.done)
	return nil
}

// Stop implements lifecycle.Part. A run that is half deleted is finished later.
func (k *Keeper) Stop(ctx context.Context) error {
	k.loop.mu.Lock()
	cancel, done := k.loop.cancel, k.loop.done
	k.loop.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once is one look of the loop. It survives every error: the next look comes.
func (k *Keeper) once(ctx context.Context) {
	err := k.Exclusively(ctx, func(ctx context.Context) error {
		if k.config.Enabled && k.config.DryRun {
			p, err := k.Preview(ctx, page)
			for _, run := range p.First {
				k.deps.Logger.Info().Stringer("run", run.Run).Str("reason", k.Reason(run)).Msg("would delete a run")
			}
			k.deps.Logger.Info().Int64("runs", p.Runs).Int64("actions", p.Actions).Msg("retention would delete")
			return err
		}
		deleted, err := k.sweepIfEnabled(ctx)
		if deleted > 0 {
			k.deps.Logger.Info().Int("runs", deleted).Msg("retention deleted runs")
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		k.deps.Logger.Warn().Err(err).Dur("next_in", k.config.Interval).Msg("retention did not get through")
	}
}

// sweepIfEnabled only finishes what was begun where retention is off.
func (k *Keeper) sweepIfEnabled(ctx context.Context) (int, error) {
	if k.config.Enabled {
		return k.Sweep(ctx)
	}
	quiet := &Keeper{config: k.config, deps: k.deps, deleted: k.deleted, failed: k.failed}
	quiet.config.MaxAge, quiet.config.MaxRuns = 0, 0
	return quiet.Sweep(ctx)
}

// Exclusively does something while no other process deletes; it waits for its turn.
func (k *Keeper) Exclusively(ctx context.Context, do func(context.Context) error) error {
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	var result error
	err := k.deps.Leases.Hold(waiting, LeaseName, k.config.Lease, func(ctx context.Context) error {
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
