package links

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

const (
	// maxClusters and maxResources bound the series: clusters beyond are left out, the last by name first.
	maxClusters, maxResources = 100, 12
	// countEvery is how often the work of clusters is counted at most, however often it is scraped.
	countEvery = 10 * time.Second
)

// Actions are how many actions a cluster has: Waiting for it alone, Starting there, and Running.
type Actions struct{ Waiting, Starting, Running int }

// phases are what a cluster can be, in the words of the metric.
const (
	phaseAway = "away"
	phaseLost = "lost"
)

// figures are the gauges of clusters.
type figures struct {
	links                *Links
	held, tails          metric.Int64ObservableGauge
	controllers, silence metric.Int64ObservableGauge
	phase, skew, actions metric.Int64ObservableGauge
	capacity, free       metric.Float64ObservableGauge
	lostAfter            time.Duration
	count                func(ctx context.Context) (map[string]Actions, error)
	mu                   sync.Mutex
	counted              map[string]Actions // GUARDED_BY(mu)
	countedAt            time.Time          // GUARDED_BY(mu)
}

// Observed says what is exported about clusters in addition to their states.
type Observed struct {
	// LostAfter is how long a cluster is away before its work is given up; 0 for never.
	LostAfter time.Duration
	// Actions counts the work of each cluster; nil means that it is not known.
	Actions func(ctx context.Context) (map[string]Actions, error)
}

// Observe exports what is known about clusters, and what this replica holds.
func (l *Links) Observe(provider metric.MeterProvider, what Observed) error {
	f := &figures{links: l, lostAfter: what.LostAfter, count: what.Actions}
	m := meter(provider)
	var err error
	whole := func(name, description string, options ...metric.Int64ObservableGaugeOption) (g metric.Int64ObservableGauge) {
		if err == nil {
			g, err = m.Int64ObservableGauge(name, append(options, metric.WithDescription(description))...)
		}
		return g
	}
	amount := func(name, description string) (g metric.Float64ObservableGauge) {
		if err == nil {
			g, err = m.Float64ObservableGauge(name, metric.WithDescription(description))
		}
		return g
	}
	f.held = whole("flyte.clusters.links", "links of controllers that this process holds")
	f.tails = whole("flyte.clusters.logs", "logs of running pods that this process reads through links")
	f.controllers = whole("flyte.clusters.controllers", "controllers that are connected, by cluster")
	f.silence = whole("flyte.clusters.silence", "for how long nothing was heard of the cluster", metric.WithUnit("s"))
	f.phase = whole("flyte.clusters.phase", "1 for what the cluster is: ready, cordoned, draining, removed, away, or lost, which is away for longer than runs.clusters.lostAfter")
	f.skew = whole("flyte.clusters.version.skew", "by how many minor versions the controller is newer than this process; negative if it is older")
	f.actions = whole("flyte.clusters.actions", "actions of the cluster, by state: waiting for admission to it alone, starting there, running there")
	f.capacity = amount("flyte.clusters.capacity", "what the nodes of the cluster have for pods, by resource: cpu in cores, memory and storage in bytes, devices in units")
	f.free = amount("flyte.clusters.free", "what of it no pod has requested")
	if err != nil {
		return fmt.Errorf("make metric: %w", err)
	}
	_, err = m.RegisterCallback(f.observe, f.held, f.tails, f.controllers, f.silence, f.phase, f.skew, f.actions, f.capacity, f.free)
	if err != nil {
		return fmt.Errorf("make metric: %w", err)
	}
	return nil
}

func (f *figures) observe(ctx context.Context, o metric.Observer) error {
	links, logs := f.links.Held()
	o.ObserveInt64(f.held, int64(links))
	o.ObserveInt64(f.tails, int64(logs))
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	all, err := f.links.deps.States.All(ctx)
	if err != nil {
		return err
	}
	all = all[:min(len(all), maxClusters)]
	for i := range all {
		f.cluster(o, &all[i])
	}
	return f.work(ctx, o, all)
}

func (f *figures) cluster(o metric.Observer, one *states.State) {
	of := attribute.String("cluster", one.Name)
	now := f.links.deps.Clock.Now()
	o.ObserveInt64(f.phase, 1, metric.WithAttributes(of, attribute.String("phase", phaseOf(one, now, f.lostAfter))))
	if !one.Known() {
		return
	}
	o.ObserveInt64(f.controllers, int64(one.Controllers), metric.WithAttributes(of))
	o.ObserveInt64(f.silence, int64(max(0, now.Sub(one.SeenAt)).Seconds()), metric.WithAttributes(of))
	if apart, known := skew(one.Version, f.links.deps.Version); known {
		o.ObserveInt64(f.skew, int64(apart), metric.WithAttributes(of))
	}
	names := make([]string, 0, len(one.Capacity))
	for name := range one.Capacity {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxResources)] {
		labels := metric.WithAttributes(of, attribute.String("resource", name))
		o.ObserveFloat64(f.capacity, units(name, one.Capacity[name]), labels)
		o.ObserveFloat64(f.free, units(name, one.Free[name]), labels)
	}
}

// phaseOf is what a cluster is, by what its operators want and by when it was heard.
func phaseOf(one *states.State, now time.Time, lostAfter time.Duration) string {
	switch {
	case !one.Away(now) || one.State == states.Removed:
		return one.State
	case lostAfter > 0 && now.Sub(one.SeenAt) > lostAfter:
		return phaseLost
	default:
		return phaseAway
	}
}

// units is an amount in cores, bytes or devices.
func units(resource string, amount int64) float64 {
	if resource == "cpu" {
		return float64(amount) / 1000
	}
	return float64(amount)
}

// work exports how many actions clusters have.
func (f *figures) work(ctx context.Context, o metric.Observer, all []states.State) error {
	if f.count == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.links.deps.Clock.Now(); f.countedAt.IsZero() || now.Sub(f.countedAt) >= countEvery || now.Before(f.countedAt) {
		counted, err := f.count(ctx)
		if err != nil {
			return err
		}
		f.counted, f.countedAt = counted, now
	}
	for i := range all {
		of, n := attribute.String("cluster", all[i].Name), f.counted[all[i].Name]
		for state, count := range map[string]int{"waiting": n.Waiting, "starting": n.Starting, "running": n.Running} {
			o.ObserveInt64(f.actions, int64(count), metric.WithAttributes(of, attribute.String("state", state)))
		}
	}
	return nil
}
