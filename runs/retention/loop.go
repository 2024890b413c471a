package retention

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

var _ lifecycle.Part = (*Keeper)(nil)

// Start implements lifecycle.Part. What a process before us began is finished even where retention is switched off now.
func (k *Keeper) Start(ctx context.Context) error {
	k.Run(k.deps.Logger.WithContext(ctx), func(ctx context.Context) {
		for k.pause(ctx, k.config.Interval) {
			k.once(ctx)
		}
	})
	return nil
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
