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
	callers         metric.Int64ObservableGauge
	oldest          metric.Float64ObservableGauge
}

// Lister reads all measurements; measured.Store does.
type Lister interface {
	All(ctx context.Context) ([]measured.Row, error)
	// ByCaller is what each caller has in all projects together.
	ByCaller(ctx context.Context) (map[string]int64, error)
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
	if g.callers, err = meter.Int64ObservableGauge("flyte.stored.callers",
		metric.WithDescription("people and API keys that have something in the object store, by what they have: below, near or above their limit")); err != nil {
		return fmt.Errorf("make metric flyte.stored.callers: %w", err)
	}
	if g.oldest, err = meter.Float64ObservableGauge("flyte.stored.oldest", metric.WithUnit("s"),
		metric.WithDescription("age of the oldest measurement of a project that is measured")); err != nil {
		return fmt.Errorf("make metric flyte.stored.oldest: %w", err)
	}
	if _, err = meter.RegisterCallback(g.observe, g.bytes, g.projects, g.callers, g.oldest); err != nil {
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
	return g.observeCallers(ctx, o)
}

func (g *gauges) observeCallers(ctx context.Context, o metric.Observer) error {
	bytes, err := g.rows.ByCaller(ctx)
	if err != nil {
		return err
	}
	states := map[state]int64{below: 0, isNear: 0, above: 0}
	for _, used := range bytes {
		switch most := g.config.CallerBytes; {
		case most > 0 && used >= most:
			states[above]++
		case near(used, most):
			states[isNear]++
		default:
			states[below]++
		}
	}
	for state, count := range states {
		o.ObserveInt64(g.callers, count, metric.WithAttributes(attribute.String("state", string(state))))
	}
	return nil
}
