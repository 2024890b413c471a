package measure

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
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
	ages    map[Attempt]age      // of attempts that run; of the loop
	usages  map[Attempt]*curve   // of the loop
	whole   time.Time            // of the loop: when all nodes were read
	failing bool                 // of the loop: nodes could not be read in the last round

	answering, silent atomic.Int64 // nodes of the last round over all
	samples           metric.Int64Counter
}

// followed is a pod that is measured.
type followed struct {
	attempt Attempt
	asks    asks
	known   bool // asks was read
	last    usage
	cpu     *uint64   // thousandths of a core, until last
	since   time.Time // when the time of the first measurement begins, if it was the last one and that is known
	read    time.Time // when last was read
}

// curve is what is known of an attempt and not reported yet.
type curve struct {
	since    time.Time // when the time of the first point begins, if the first one is not reported and that is known
	points   []*insightv1.UsagePoint
	asks     asks
	reported time.Time
}

// New returns a meter. Run starts it.
func New(config Config, deps Deps) (*Meter, error) {
	m := &Meter{config: config, deps: deps, pods: map[string]*followed{}, ages: map[Attempt]age{}, usages: map[Attempt]*curve{}}
	m.sources = sources{kubelets: deps.Source, clock: deps.Clock, timeout: nodeTimeout, pause: config.Interval}
	if deps.Source == nil {
		m.sources.metrics = &MetricsAPI{Client: deps.Cluster, Namespaces: deps.Namespaces}
		if config.Kubelets {
			m.sources.kubelets = Kubelets{deps.Cluster}
		}
	}
	return m, m.export(deps.Meter)
}

// resolution is that of curves: two measurements within it would be one point twice, as after this process stood still.
const resolution = time.Second

// Run measures until ctx ends.
func (m *Meter) Run(ctx context.Context) {
	if m.config.Interval <= 0 {
		return
	}
	for pause := m.first(); clock.Sleep(ctx, m.deps.Clock, pause) == nil; {
		m.round(ctx)
		pause = max(resolution, min(m.first(), m.whole.Add(m.config.Interval).Sub(m.deps.Clock.Now())))
	}
}

// round measures once the pods that are due, and reports what is due.
func (m *Meter) round(ctx context.Context) {
	running := m.deps.Running(ctx)
	seen := make(map[string]bool, len(running))
	for _, pod := range running {
		seen[pod.UID] = true
	}
	maps.DeleteFunc(m.pods, func(uid string, _ *followed) bool { return !seen[uid] })
	due, whole := m.due(running)
	nodes := map[string]bool{}
	for _, pod := range due {
		nodes[pod.Node] = true
	}
	failed := map[string]error{}
	if len(due) > 0 {
		var all map[string]usage
		all, failed = m.sources.read(ctx, slices.Sorted(maps.Keys(nodes)), whole)
		m.take(ctx, due, all)
	}
	if whole {
		m.complain(failed)
		m.answering.Store(int64(len(nodes) - len(failed)))
		m.silent.Store(int64(len(failed)))
	}
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
