package system

import (
	"maps"
	"runtime"
	"slices"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

// sample is one value of a metric with its labels. Of a histogram the value is the number of observations.
type sample struct {
	labels map[string]string
	value  float64
}

// metricSet has the process's own metrics by name, as /metrics serves them.
type metricSet map[string][]sample

// gather reads the registries. Metrics that cannot be collected are missing.
func (s *System) gather() metricSet {
	set := metricSet{}
	families, err := s.Gatherer.Gather()
	if err != nil {
		s.Log.Warn().Err(err).Msg("reading some metrics failed")
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			one := sample{labels: map[string]string{}}
			for _, label := range metric.GetLabel() {
				one.labels[label.GetName()] = label.GetValue()
			}
			switch {
			case metric.GetCounter() != nil:
				one.value = metric.GetCounter().GetValue()
			case metric.GetGauge() != nil:
				one.value = metric.GetGauge().GetValue()
			case metric.GetHistogram() != nil:
				one.value = float64(metric.GetHistogram().GetSampleCount())
			default:
				continue
			}
			set[family.GetName()] = append(set[family.GetName()], one)
		}
	}
	return set
}

// sum adds the values whose labels are wanted; nil wants all. It also reports whether the metric exists.
func (m metricSet) sum(name string, wanted func(labels map[string]string) bool) (float64, bool) {
	total := 0.0
	for _, one := range m[name] {
		if wanted == nil || wanted(one.labels) {
			total += one.value
		}
	}
	return total, len(m[name]) > 0
}

// repaired is the drift that was repaired, by kind.
func (m metricSet) repaired() []*insightv1.Repair {
	kinds := map[string]uint64{}
	for _, one := range m["flyte_drift_repaired_total"] { // the actions service and the executor both count
		kinds[one.labels["kind"]] += uint64(one.value)
	}
	found := make([]*insightv1.Repair, 0, len(kinds))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		found = append(found, &insightv1.Repair{Kind: kind, Total: kinds[kind]})
	}
	return found
}

// memory is the resident memory of the process; if the system does not report it, what the Go runtime obtained.
func (m metricSet) memory() uint64 {
	if resident, known := m.sum("process_resident_memory_bytes", nil); known {
		return uint64(resident)
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Sys
}
