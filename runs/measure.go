package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// meters are the metrics that loops and streams record. The gauges of the service are read when they are scraped.
type meters struct {
	meter metric.Meter
	waits metric.Float64Histogram
	lag   metric.Float64Histogram
	// refused counts runs that limits of what is under way refused.
	refused metric.Int64Counter
	// reclaimed counts attempts that were taken back from clusters, reports those of clusters about what they do not run.
	reclaimed, reports metric.Int64Counter
	conditions         *conditionMeters
}

func newMeters(provider metric.MeterProvider) (*meters, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	m := &meters{meter: provider.Meter("github.com/flyte-binary/flyte-binary/runs")}
	var err error
	if m.waits, err = m.meter.Float64Histogram("flyte.queue.wait", metric.WithUnit("s"),
		metric.WithDescription("from when an action was admitted, which is when a place was free, until an executor got it; includes the wait while CreateRun calls need the processors"),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)); err != nil {
		return nil, fmt.Errorf("make metric flyte.queue.wait: %w", err)
	}
	if m.lag, err = m.meter.Float64Histogram("flyte.watch.lag", metric.WithUnit("s"),
		metric.WithDescription("from when a change of an action was stored until streams could send it"),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)); err != nil {
		return nil, fmt.Errorf("make metric flyte.watch.lag: %w", err)
	}
	if m.refused, err = m.meter.Int64Counter("flyte.backlog.refused",
		metric.WithDescription("runs that were refused because their caller or their project has too much under way, by limit")); err != nil {
		return nil, fmt.Errorf("make metric flyte.backlog.refused: %w", err)
	}
	if m.reclaimed, err = m.meter.Int64Counter("flyte.clusters.reclaimed",
		metric.WithDescription("attempts that were taken back from a cluster, by the reason of their failure and by state: waiting ones had not begun there, begun ones are lost")); err != nil {
		return nil, fmt.Errorf("make metric flyte.clusters.reclaimed: %w", err)
	}
	if m.reports, err = m.meter.Int64Counter("flyte.clusters.reports.refused",
		metric.WithDescription("reports of a cluster that were refused, because it does not run the action: those of attempts that were taken back from it, above all")); err != nil {
		return nil, fmt.Errorf("make metric flyte.clusters.reports.refused: %w", err)
	}
	m.conditions, err = newConditionMeters(m.meter)
	return m, err
}

func (m *meters) countRefused(ctx context.Context, limit string) {
	m.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("limit", limit)))
}

func (m *meters) countReclaimed(ctx context.Context, cluster, reason string, waiting bool, attempts int) {
	state := "begun"
	if waiting {
		state = "waiting"
	}
	m.reclaimed.Add(ctx, int64(attempts), metric.WithAttributes(
		attribute.String("cluster", cluster), attribute.String("reason", reason), attribute.String("state", state)))
}

func (m *meters) countReport(ctx context.Context, cluster string) {
	m.reports.Add(ctx, 1, metric.WithAttributes(attribute.String("cluster", cluster)))
}

// scrapeTimeout bounds the queries of one scrape: a database that does not answer must not hide the other metrics.
const scrapeTimeout = 2 * time.Second

// observed is one gauge of the service.
type observed struct {
	name, about string
	options     []metric.Float64ObservableGaugeOption
	gauge       metric.Float64ObservableGauge
}

// gauges are all gauges by name. Those that the database has are missing while it does not answer.
type gauges map[string]*observed

func newGauges() gauges {
	all := gauges{}
	for name, about := range map[string]string{
		"flyte.actions.held":       "actions that wait for a lookup in the cache or in an earlier run, counted up to 10,000",
		"flyte.actions.overdue":    "timeouts, starts and ends of actions that are due and not processed, counted up to 10,000",
		"flyte.actions.stored":     "actions in the database, as it estimates them",
		"flyte.admission.limit":    "actions that may be live now: runs.admission.maxLive, or fewer while the cluster is slow; only in the process that admits",
		"flyte.conditions.waiting": "conditions that wait for an answer, counted up to 10,000",
		"flyte.loop.held":          "1 for a loop of the installation that some process runs, 0 for one that none runs",
		"flyte.queue.waiting":      "actions that are not admitted yet, by queue",
		"flyte.runs.deleting":      "runs whose data retention is deleting, counted up to 10,000",
		"flyte.watch.runs":         "runs whose log this process follows for its streams",
		"flyte.watch.streams":      "open streams, by what they follow: run or list",
		"flyte.webhooks.pending":   "webhook calls of conditions that have no answer yet, counted up to 10,000",
		"flyte.writes.waiting":     "changes of actions that wait for the next transaction of this process",
	} {
		all[name] = &observed{name: name, about: about}
	}
	for name, about := range map[string]string{
		"flyte.admission.silence": "since admission last passed over the queue without an error; only in the process that admits",
		"flyte.conditions.oldest": "how long the condition has waited that waits longest for an answer; 0 if none waits",
		"flyte.rollups.lag":       "how long the first end of an action that the roll-ups do not count has waited; 0 if they count all",
		"flyte.starts.oldest":     "how long the oldest admitted action has waited for its cluster to begin with it",
		"flyte.queue.oldest":      "how long the oldest action that is not admitted has waited, by queue",
	} {
		all[name] = &observed{name: name, about: about, options: []metric.Float64ObservableGaugeOption{metric.WithUnit("s")}}
	}
	all["flyte.database.size"] = &observed{
		name: "flyte.database.size", about: "size of the whole database with its indexes",
		options: []metric.Float64ObservableGaugeOption{metric.WithUnit("By")},
	}
	return all
}

// measure registers the gauges.
func (s *Service) measure(meter metric.Meter) error {
	all := newGauges()
	instruments := make([]metric.Observable, 0, len(all))
	for name, one := range all {
		var err error
		if one.gauge, err = meter.Float64ObservableGauge(name, append(one.options, metric.WithDescription(one.about))...); err != nil {
			return fmt.Errorf("make metric %s: %w", name, err)
		}
		instruments = append(instruments, one.gauge)
	}
	_, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		set := func(name string, value float64, labels ...attribute.KeyValue) {
			o.ObserveFloat64(all[name].gauge, value, metric.WithAttributes(labels...))
		}
		s.observeProcess(set)
		return errors.Join(s.observeDatabase(ctx, set), s.observeQueues(ctx, set))
	}, instruments...)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

type setter func(name string, value float64, labels ...attribute.KeyValue)

// observeProcess asks nothing outside of this process.
func (s *Service) observeProcess(set setter) {
	set("flyte.writes.waiting", float64(s.writer.Waiting()))
	streams := s.hub.Streams()
	set("flyte.watch.runs", float64(streams.Followed))
	set("flyte.watch.streams", float64(streams.Subscribers), attribute.String("of", "run"))
	set("flyte.watch.streams", float64(streams.ListSubscribers), attribute.String("of", "list"))
	if silence, admits := s.admission.Silence(); admits {
		set("flyte.admission.silence", silence.Seconds())
		set("flyte.admission.limit", float64(s.admission.Limit()))
	}
}

func (s *Service) observeDatabase(ctx context.Context, set setter) error {
	now := s.clock.Now()
	found, err := worklists.ReadVitals(ctx, s.pool, now)
	if err != nil {
		return err
	}
	oldest, err := s.OldestStart(ctx)
	if err != nil {
		return err
	}
	set("flyte.starts.oldest", oldest.Seconds())
	set("flyte.rollups.lag", since(found.UncountedSince, now))
	set("flyte.conditions.oldest", since(found.WaitingSince, now))
	for name, value := range map[string]int64{
		"flyte.actions.held": found.Held, "flyte.actions.overdue": found.Overdue, "flyte.actions.stored": found.Actions,
		"flyte.conditions.waiting": found.Conditions, "flyte.runs.deleting": found.Deletions, "flyte.webhooks.pending": found.Webhooks, "flyte.database.size": found.Bytes,
	} {
		set(name, float64(value))
	}
	for _, loop := range s.loopVitals(found.Leases, now) {
		held := 0.0
		if loop.Held {
			held = 1
		}
		set("flyte.loop.held", held, attribute.String("loop", loop.Name))
	}
	return nil
}

// since is for how many seconds something lasts that began at a time; 0 if it did not begin.
func since(began *time.Time, now time.Time) float64 {
	if began == nil {
		return 0
	}
	return max(0, now.Sub(*began).Seconds())
}

func (s *Service) observeQueues(ctx context.Context, set setter) error {
	depths, err := s.queue.Depths(ctx)
	if err != nil {
		return err
	}
	waiting, oldest := map[string]int{}, map[string]time.Duration{}
	for _, queue := range s.queues.All() {
		waiting[queue.Name], oldest[queue.Name] = 0, 0
	}
	for _, depth := range depths {
		name := s.queues.Of(depth.Queue).Name // stored names may be of queues that are gone
		waiting[name] += depth.Waits
		oldest[name] = max(oldest[name], s.clock.Now().Sub(depth.Oldest))
	}
	for name, count := range waiting {
		set("flyte.queue.waiting", float64(count), attribute.String("queue", name))
		set("flyte.queue.oldest", oldest[name].Seconds(), attribute.String("queue", name))
	}
	return nil
}
