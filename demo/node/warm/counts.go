package warm

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Counts counts the starts of processes. It is a prometheus.Collector.
type Counts struct {
	mu      sync.Mutex
	warm    uint64            // GUARDED_BY(mu)
	cold    map[Reason]uint64 // GUARDED_BY(mu)
	metrics *prometheus.Desc
}

// MetricName is the metric of starts, with the labels start (warm or cold) and reason.
const MetricName = "flyte_local_node_starts_total"

func newCounts() *Counts {
	return &Counts{
		cold: map[Reason]uint64{},
		metrics: prometheus.NewDesc(MetricName, "processes of containers that the local node has started, warm or cold and why",
			[]string{"start", "reason"}, nil),
	}
}

func (c *Counts) add(reason Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason == None {
		c.warm++
		return
	}
	c.cold[reason]++
}

// Starts is how many processes have started warm, and how many cold by reason.
func (c *Counts) Starts() (warm uint64, cold map[Reason]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warm, maps.Clone(c.cold)
}

// Describe implements prometheus.Collector.
func (c *Counts) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.metrics }

// Collect implements prometheus.Collector.
func (c *Counts) Collect(metrics chan<- prometheus.Metric) {
	warm, cold := c.Starts()
	metrics <- prometheus.MustNewConstMetric(c.metrics, prometheus.CounterValue, float64(warm), "warm", "")
	for _, reason := range Reasons() {
		metrics <- prometheus.MustNewConstMetric(c.metrics, prometheus.CounterValue, float64(cold[reason]), "cold", string(reason))
	}
}
