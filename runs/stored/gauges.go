package stored

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/measured"
)

// gauges are read when they are scraped.
type gauges struct {
	config          Config
	rows            Lister
	clock           clock.Clock
	bytes, projects metric.Int64ObservableGauge
	oldest          metric.Float64ObservableGauge
}

// Lister reads all measurements; measured.Store does.
type Lister interface {
	All(ctx context.Context) ([]measured.Row, error)
}

// RegisterGauges registers the gauges. There are none where nothing is measured.
func RegisterGauges(config Config, rows Lister, clk clock.Clock, meter metric.Meter) error {
	if !config.on() {
		return nil
	}
	g := &gauges{config: config, rows: rows, clock: clk}
	var err error
	if g.bytes, err = meter.Int64ObservableGauge("flyte.stored.size", metric.WithUnit("By"),
		metric.WithDescription("what all measured projects have in the object store, by their last measurements and uploads since")); err != nil {
		return fmt.Errorf("make metric flyte.stored.size: %w", err)
	}
	if g.projects, err = meter.Int64ObservableGauge("flyte.stored.projects",
		metric.WithDescription("projects by what their last measurement says: below, near or above their limit; old or missing for one that limits nothing")); err != nil {
		return fmt.Errorf("make metric flyte.stored.projects: %w", err)
	}
	if g.oldest, err = meter.Float64ObservableGauge("flyte.stored.oldest", metric.WithUnit("s"),
		metric.WithDescription("age of the oldest measurement of a project that is measured")); err != nil {
		return fmt.Errorf("make metric flyte.stored.oldest: %w", err)
	}
	if _, err = meter.RegisterCallback(g.observe, g.bytes, g.projects, g.oldest); err != nil {
		return fmt.Errorf("register metrics of stored bytes: %w", err)
	}
	return nil
}

func (g *gauges) observe(ctx context.Context, o metric.Observer) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	rows, err := g.rows.All(ctx)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r measured.Row) bool { return !g.config.measures(r.Project) })
	states := map[state]int64{below: 0, isNear: 0, above: 0, old: 0, missing: 0}
	var total int64
	var oldest time.Duration
	now := g.clock.Now()
	for i := range rows {
		use := g.config.use(&rows[i], now)
		states[use.state]++
		if use.state == missing {
			continue
		}
		oldest = max(oldest, now.Sub(use.MeasuredAt))
		total += use.Used
	}
	o.ObserveInt64(g.bytes, total)
	for state, count := range states {
		o.ObserveInt64(g.projects, count, metric.WithAttributes(attribute.String("state", string(state))))
	}
	o.ObserveFloat64(g.oldest, oldest.Seconds())
	return nil
}
