package obs

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// Labels has the labels that each metric may have, by the name of its instrument: flyte.things. The instruments of this
// repository that it does not name have none; those of libraries keep theirs. A value that no one bounded, such as the
// name of a run, can so never become a series.
type Labels map[string][]string

// Instrument is a metric as it is served, before it has any value.
type Instrument struct {
	// Name is that at /metrics, with its unit and suffix. Type is counter, gauge or histogram.
	Name, Type, Help string
	// Labels are those that it may have.
	Labels []string
}

// instruments remembers what was made and limits the labels.
type instruments struct {
	labels Labels

	mu   sync.Mutex
	made map[string]Instrument // GUARDED_BY(mu): by the name of the instrument
}

// ours starts the scopes of this repository.
const ours = "github.com/flyte-binary/flyte-binary/"

// view is an sdkmetric.View: it sees each instrument once for each reader.
func (s *instruments) view(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	labels, known := s.labels[i.Name]
	if !known && !strings.HasPrefix(i.Scope.Name, ours) {
		return sdkmetric.Stream{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = map[string]Instrument{}
	}
	s.made[i.Name] = describe(i, labels)
	keys := make([]attribute.Key, len(labels))
	for n, label := range labels {
		keys[n] = attribute.Key(label)
	}
	return sdkmetric.Stream{
		Name: i.Name, Description: i.Description, Unit: i.Unit, AttributeFilter: attribute.NewAllowKeysFilter(keys...),
	}, true
}

// all are the instruments that were made, by name.
func (s *instruments) all() []Instrument {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]Instrument, 0, len(s.made))
	for _, one := range s.made {
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b Instrument) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

func describe(i sdkmetric.Instrument, labels []string) Instrument {
	described := Instrument{Type: "gauge", Help: i.Description}
	kind := otlptranslator.MetricType(otlptranslator.MetricTypeGauge)
	switch i.Kind { //nolint:exhaustive // the others are gauges to Prometheus
	case sdkmetric.InstrumentKindCounter, sdkmetric.InstrumentKindObservableCounter:
		described.Type, kind = "counter", otlptranslator.MetricTypeMonotonicCounter
	case sdkmetric.InstrumentKindHistogram:
		described.Type, kind = "histogram", otlptranslator.MetricTypeHistogram
	}
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	described.Name, _ = namer.Build(otlptranslator.Metric{Name: i.Name, Unit: i.Unit, Type: kind}) // it fails for an empty name only
	for _, label := range labels {
		described.Labels = append(described.Labels, strings.ReplaceAll(label, ".", "_"))
	}
	return described
}
