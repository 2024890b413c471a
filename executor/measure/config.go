package measure

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the measurements.
type Config struct {
	// Interval is the time between two measurements of a pod. Kubelets measure every 10 s themselves. 0 measures nothing. Default 15 s.
	Interval time.Duration `config:"interval"`
	// Kubelets reads the summaries of kubelets, which know disks too, instead of the metrics API (metrics.k8s.io). It needs the right to
	// get nodes/proxy, which also lets its holder run commands in pods. Default false.
	Kubelets bool `config:"kubelets"`
	// First is how soon an attempt that started is measured, by the kubelets of its nodes, and again when it has run twice as long, until the
	// next interval. So long after an attempt ended its last measurements are sent. 0 is the interval. Default 2 s.
	First time.Duration `config:"first"`
	// Report is how often the measurements of an attempt are sent to the API, at least every Interval. The first one and those of
	// attempts that ended are sent at once. Default 1 m.
	Report time.Duration `config:"report"`
}

// DefaultConfig suits clusters of any size.
func DefaultConfig() Config {
	return Config{Interval: 15 * time.Second, First: 2 * time.Second, Report: time.Minute}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Interval < 0, "interval: must not be negative, got %s", c.Interval)
	found.If(c.Interval > 0 && c.Interval < time.Second, "interval: must be at least 1 s, or 0, got %s", c.Interval)
	found.If(c.First < 0, "first: must not be negative, got %s", c.First)
	found.If(c.First > 0 && c.First < time.Second, "first: must be at least 1 s, or 0, got %s", c.First)
	found.If(c.Report < 0, "report: must not be negative, got %s", c.Report)
	return found.Err()
}
