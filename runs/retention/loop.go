package retention

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

var _ lifecycle.Part = (*Keeper)(nil)

// Start implements lifecycle.Part. Deletions that an earlier process began are finished even if retention is disabled
// now.
func (k *Keeper) Start(ctx context.Context) error {
	return k.Run(k.deps.Logger.WithContext(ctx), func(ctx context.Context) {
		for clock.Sleep(ctx, k.deps.Clock, k.config.Interval) == nil {
			k.once(ctx)
		}
	})
}

// once is one iteration of the loop. It logs every error, and the next iteration retries.
func (k *Keeper) once(ctx context.Context) {
	err := k.Exclusively(ctx, func(ctx context.Context) error {
		if k.config.Enabled && k.config.DryRun {
			p, err := k.Preview(ctx, page)
			for _, run := range p.First {
				k.deps.Logger.Info().Stringer("run", run.Run).Bool("tracked", run.Tracked).Str("reason", k.Reason(run)).Msg("would delete a run")
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
		k.deps.Logger.Warn().Err(err).Dur("next_in", k.config.Interval).Msg("retention sweep failed; retrying")
	}
}

// sweepIfEnabled only finishes interrupted deletions if retention is disabled.
func (k *Keeper) sweepIfEnabled(ctx context.Context) (int, error) {
	if k.config.Enabled {
		return k.Sweep(ctx)
	}
	quiet := &Keeper{config: k.config, deps: k.deps, kinds: k.kinds, deleted: k.deleted, failed: k.failed}
	quiet.config.MaxAge, quiet.config.MaxRuns = 0, 0
	return quiet.Sweep(ctx)
}

// Exclusively runs a function while no other process deletes; it waits for the lease.
func (k *Keeper) Exclusively(ctx context.Context, do func(context.Context) error) error {
	return leased.Once(ctx, k.deps.Leases, LeaseName, k.config.Lease, do)
}
