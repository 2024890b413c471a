package rollup

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

// LeaseName is the lease of the replica that counts.
const LeaseName = "rollups"

const (
	batch      = 1000      // ends of one transaction
	rowsAtOnce = 1000      // rows that one transaction makes again or deletes
	sweepEvery = time.Hour // between two sweeps
)

// Rows are the stored roll-ups; rollups.Store is one.
type Rows interface {
	Count(ctx context.Context, limit int, until, today time.Time, prices rollups.Prices, sums rollups.Sums) (int, error)
	Refresh(ctx context.Context, limit int, today time.Time, prices rollups.Prices, sums rollups.Sums) (int, error)
	Reprice(ctx context.Context, limit int, prices rollups.Prices) (int, error)
	Sweep(ctx context.Context, before time.Time, limit int) (more bool, err error)
	PricesID(ctx context.Context, digest []byte) (int32, error)
}

// Prices are those of the configuration; cost.Prices are.
type Prices interface {
	// Digest tells prices from others.
	Digest() []byte
	// Weigh is what use costs, or another weight to order it by.
	Weigh(used []rollups.Priced) int64
}

// Deps are the dependencies of the loop. All are required.
type Deps struct {
	Rows   Rows
	Asks   Asks
	Prices Prices
	Leases leased.Leases
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Loop counts what ended.
type Loop struct {
	lifecycle.Background
	config Config
	deps   Deps
	sums   *sums
	prices *rollups.Prices // nil until they are stored
	swept  time.Time
}

var _ lifecycle.Part = (*Loop)(nil)

// New returns a loop; it does nothing before Start.
func New(config Config, deps Deps) *Loop {
	return &Loop{config: config, deps: deps, sums: &sums{asks: deps.Asks}}
}

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	return l.Run(l.deps.Logger.WithContext(ctx), leased.While(l.deps.Leases, LeaseName, l.config.Lease, leased.Every(l.deps.Clock, l.config.Every, l.pass)))
}

// pass counts all that is listed, then brings up to date what a new day or new prices change.
func (l *Loop) pass(ctx context.Context) error {
	if l.prices == nil {
		id, err := l.deps.Rows.PricesID(ctx, l.deps.Prices.Digest())
		if err != nil {
			return err
		}
		l.prices = &rollups.Prices{ID: id, Weigh: l.deps.Prices.Weigh}
	}
	now := l.deps.Clock.Now()
	today := rollups.Day(now)
	for _, step := range []func() (int, error){
		func() (int, error) {
			return l.deps.Rows.Count(ctx, batch, now.Add(-l.config.Grace), today, *l.prices, l.sums)
		},
		func() (int, error) { return l.deps.Rows.Refresh(ctx, rowsAtOnce, today, *l.prices, l.sums) },
		func() (int, error) { return l.deps.Rows.Reprice(ctx, rowsAtOnce, *l.prices) },
	} {
		for {
			done, err := step()
			if err != nil {
				return err
			}
			if done < rowsAtOnce {
				break
			}
		}
	}
	return l.sweep(ctx)
}

func (l *Loop) sweep(ctx context.Context) error {
	now := l.deps.Clock.Now()
	if pause := now.Sub(l.swept); pause < sweepEvery && pause >= 0 {
		return nil
	}
	for more := true; more; {
		var err error
		if more, err = l.deps.Rows.Sweep(ctx, now.Add(-l.config.Keep), rowsAtOnce); err != nil {
			return err
		}
	}
	l.swept = now
	return nil
}
