package runs

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/runs/cost"
	"github.com/flyte-binary/flyte-binary/runs/health"
	"github.com/flyte-binary/flyte-binary/runs/rollup"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

// newRollups returns the loop that counts what ended.
func newRollups(config Config, deps Deps, l *loops, leases leased.Leases, logger zerolog.Logger) *rollup.Loop {
	return rollup.New(config.Rollups, rollup.Deps{
		Rows: rollups.New(deps.Pool), Asks: l.asks, Prices: cost.Prices{Config: config.Cost}, Leases: leases, Clock: deps.Clock, Logger: logger,
	})
}

// overRuns answer questions over many runs from what was counted.
type overRuns struct {
	tasks *health.Tasks
	cache *health.Cache
	costs *cost.Handler
}

func newOverRuns(config Config, deps Deps, l *loops) overRuns {
	rows, prices := rollups.New(deps.Pool), cost.Prices{Config: config.Cost}
	return overRuns{
		tasks: &health.Tasks{Reader: rows, Prices: prices},
		cache: &health.Cache{Reader: rows, Evictor: l.cache, Compare: &health.Comparer{Specs: l.live, Objects: deps.Blobs}, Clock: deps.Clock},
		costs: &cost.Handler{Reader: rows, Prices: prices, Clock: deps.Clock},
	}
}
