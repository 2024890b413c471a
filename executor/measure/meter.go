package measure

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Attempt names an attempt of an action.
type Attempt struct {
	// UID is the database id of the action.
	UID int64
	// Number counts from 1.
	Number uint32
}

// Pod is a pod that runs an attempt, or a part of it.
type Pod struct {
	Namespace, Name, UID, Node string
	Attempt                    Attempt
}

// Recorder takes measurements; the client of EngineService does.
type Recorder interface {
	RecordUsage(ctx context.Context, request *enginev1.RecordUsageRequest) (*enginev1.RecordUsageResponse, error)
}

// Deps are what a meter needs.
type Deps struct {
	// Running lists the pods of attempts that run now.
	Running func(ctx context.Context) []Pod
	// Get reads a whole pod from the API server, for what it requests.
	Get func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// Source reads the summaries of nodes; nil means those of kubelets, or else the metrics API.
	Source Source
	// Cluster reaches the API server. It may be nil with a Source.
	Cluster rest.Interface
	// Namespaces are those of tasks; empty means all.
	Namespaces []string
	Recorder   Recorder
	Clock      clock.Clock
	// Meter takes metrics; nil means that no one does.
	Meter  metric.MeterProvider
	Logger zerolog.Logger
}

// Meter measures the pods of attempts while they run.
type Meter struct {
	config  Config
	deps    Deps
	sources sources
	pods    map[string]*followed // by UID; of the loop
	usages  map[Attempt]*curve   // of the loop
	failing bool                 // of the loop: nodes could not be read in the last round

	answering, silent atomic.Int64 // nodes of the last round
	samples           metric.Int64Counter
}

// followed is a pod that is measured.
type followed struct {
	attempt Attempt
	asks    asks
	known   bool // asks was read
	last    usage
}

// curve is what is known of an attempt and not reported yet.
type curve struct {
	points   []*insightv1.UsagePoint
	asks     asks
	reported time.Time
}

// New returns a meter. Run starts it.
func New(config Config, deps Deps) (*Meter, error) {
	m := &Meter{config: config, deps: deps, pods: map[string]*followed{}, usages: map[Attempt]*curve{}}
	m.sources = sources{kubelets: deps.Source, clock: deps.Clock, timeout: nodeTimeout, pause: config.Interval}
	if deps.Source == nil {
		m.sources.metrics = &MetricsAPI{Client: deps.Cluster, Namespaces: deps.Namespaces}
		if config.Kubelets {
			m.sources.kubelets = Kubelets{deps.Cluster}
		}
	}
	return m, m.export(deps.Meter)
}

// Run measures until ctx ends.
func (m *Meter) Run(ctx context.Context) {
	if m.config.Interval <= 0 {
		return
	}
	for clock.Sleep(ctx, m.deps.Clock, m.config.Interval) == nil {
		m.round(ctx)
	}
}

// round measures once all pods that run, and reports what is due.
func (m *Meter) round(ctx context.Context) {
	running := m.deps.Running(ctx)
	byNode := map[string][]Pod{}
	seen := make(map[string]bool, len(running))
	for _, pod := range running {
		byNode[pod.Node] = append(byNode[pod.Node], pod)
		seen[pod.UID] = true
	}
	maps.DeleteFunc(m.pods, func(uid string, _ *followed) bool { return !seen[uid] })
	failed := map[string]error{}
	if len(running) > 0 {
		var all map[string]usage
		all, failed = m.sources.read(ctx, slices.Sorted(maps.Keys(byNode)))
		m.complain(failed)
		m.take(ctx, running, all)
	}
	m.answering.Store(int64(len(byNode) - len(failed)))
	m.silent.Store(int64(len(failed)))
	m.report(ctx, running)
}

// complain logs that nodes cannot be read, once until they can.
func (m *Meter) complain(failed map[string]error) {
	if len(failed) == 0 {
		m.failing = false
		return
	}
	if m.failing {
		return
	}
	m.failing = true
	node := slices.Sorted(maps.Keys(failed))[0]
	m.deps.Logger.Warn().Err(failed[node]).Str("node", node).Int("nodes", len(failed)).
		Msg("cannot read what pods use; their tasks run, and have no measurements meanwhile")
}

// take adds a point to each attempt whose pods have new measurements.
func (m *Meter) take(ctx context.Context, running []Pod, all map[string]usage) {
	sums := map[Attempt]*sum{}
	for _, pod := range running {
		now, found := all[pod.UID]
		if !found {
			now, found = all[pod.Namespace+"/"+pod.Name]
		}
		if !found {
			continue
		}
		one := m.pods[pod.UID]
		if one == nil {
			one = &followed{attempt: pod.Attempt}
			m.pods[pod.UID] = one
		}
		if !now.at.After(one.last.at) {
			continue // the kubelet has not measured since
		}
		m.learn(ctx, pod, one)
		total := sums[pod.Attempt]
		if total == nil {
			total = &sum{}
			sums[pod.Attempt] = total
		}
		total.add(now, one)
		one.last = now
	}
	m.samples.Add(ctx, int64(len(sums)))
	asked := m.asked()
	for attempt, total := range sums {
		known := m.usages[attempt]
		if known == nil {
			known = &curve{}
			m.usages[attempt] = known
		}
		known.asks = asked[attempt]
		known.points = append(known.points, &insightv1.UsagePoint{At: timestamppb.New(total.at), Used: total.amounts()})
		if extra := len(known.points) - maxPending; extra > 0 {
			known.points = known.points[extra:]
		}
	}
}

// maxPending is how many points of an attempt are kept while they cannot be reported.
const maxPending = 240

// learn reads what a pod requests, once.
func (m *Meter) learn(ctx context.Context, pod Pod, one *followed) {
	if one.known {
		return
	}
	whole, err := m.deps.Get(ctx, pod.Namespace, pod.Name)
	if err != nil {
		return // the next round tries again
	}
	one.asks, one.known = asksOf(whole), true
}

// asked sums what the pods of each attempt request.
func (m *Meter) asked() map[Attempt]asks {
	total := make(map[Attempt]asks, len(m.pods))
	for _, one := range m.pods {
		if one.known {
			sum, found := total[one.attempt]
			total[one.attempt] = sum.plus(one.asks, !found)
		}
	}
	return total
}

// sum is a point of an attempt, summed over its pods.
type sum struct {
	at    time.Time
	cpu   *uint64 // thousandths of a core
	usage usage
}

func (s *sum) add(now usage, one *followed) {
	s.at = later(s.at, now.at)
	add(&s.cpu, rate(one.last, now))
	add(&s.usage.memory, now.memory)
	add(&s.usage.disk, now.disk)
	add(&s.usage.gpu, now.gpu)
	add(&s.usage.gpuMemory, now.gpuMemory)
}

func (s *sum) amounts() *insightv1.Amounts {
	return &insightv1.Amounts{
		CpuMilli: s.cpu, MemoryBytes: s.usage.memory, DiskBytes: s.usage.disk, GpuPercent: s.usage.gpu, GpuMemoryBytes: s.usage.gpuMemory,
	}
}

// rate is how many thousandths of a core a pod used between two measurements, exactly where both have a total. A container
// that started again begins at 0.
func rate(before, now usage) *uint64 {
	if before.total != nil && now.total != nil && *now.total >= *before.total {
		if span := now.at.Sub(before.at); span > 0 {
			value := uint64(float64(*now.total-*before.total)/float64(span)*1000 + 0.5)
			return &value
		}
	}
	if now.rate == nil {
		return nil
	}
	value := (*now.rate + 500_000) / 1_000_000
	return &value
}

// perCall is how many attempts one call reports.
const perCall = 500

// reportTimeout bounds one call.
const reportTimeout = 30 * time.Second

// report sends the points that are due: the first of an attempt, those of attempts that no longer run, and the rest from time to
// time.
func (m *Meter) report(ctx context.Context, running []Pod) {
	live := make(map[Attempt]bool, len(running))
	for _, pod := range running {
		live[pod.Attempt] = true
	}
	now := m.deps.Clock.Now()
	var due []Attempt
	for attempt, known := range m.usages {
		switch {
		case len(known.points) == 0 && !live[attempt]:
			delete(m.usages, attempt)
		case len(known.points) == 0:
		case !live[attempt], known.reported.IsZero(), now.Sub(known.reported) >= m.config.Report:
			due = append(due, attempt)
		}
	}
	for batch := range slices.Chunk(due, perCall) {
		request := &enginev1.RecordUsageRequest{}
		for _, attempt := range batch {
			request.Usages = append(request.Usages, m.usages[attempt].message(attempt))
		}
		call, cancel := context.WithTimeout(ctx, reportTimeout)
		_, err := m.deps.Recorder.RecordUsage(call, request)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				m.deps.Logger.Warn().Err(err).Int("attempts", len(batch)).Msg("cannot report what pods use; trying again later")
			}
			return
		}
		for _, attempt := range batch {
			known := m.usages[attempt]
			known.points, known.reported = nil, now
			if !live[attempt] {
				delete(m.usages, attempt)
			}
		}
	}
}

func (c *curve) message(attempt Attempt) *enginev1.AttemptUsage {
	return &enginev1.AttemptUsage{
		Uid: attempt.UID, Attempt: attempt.Number, Requests: c.asks.requests(), Limits: c.asks.limits(), Gpus: c.asks.gpus, Points: c.points,
	}
}
