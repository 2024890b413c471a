package stored

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Meters count what the package does.
type Meters struct {
	requests, failures, refused metric.Int64Counter
}

// NewMeters makes the counters.
func NewMeters(meter metric.Meter) (*Meters, error) {
	m := &Meters{}
	for name, one := range map[string]struct {
		counter *metric.Int64Counter
		about   string
	}{
		"flyte.stored.requests": {&m.requests, "requests to the object store that list what projects have stored"},
		"flyte.stored.failures": {&m.failures, "measurements of what a project has stored that failed and are tried again"},
		"flyte.stored.refused":  {&m.refused, "runs and uploads that were refused because a project or a caller has stored as much as it may, by whose limit it is"},
	} {
		var err error
		if *one.counter, err = meter.Int64Counter(name, metric.WithDescription(one.about)); err != nil {
			return nil, fmt.Errorf("make metric %s: %w", name, err)
		}
	}
	return m, nil
}

func (m *Meters) refuse(ctx context.Context, what, of string) {
	m.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("what", what), attribute.String("of", of)))
}

// scrapeTimeout bounds the query of one scrape.
const scrapeTimeout = 2 * time.Second
