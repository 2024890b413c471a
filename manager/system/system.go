package system

import (
	"context"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/runs"
)

// System is SystemService. It alone sees all parts. It answers even if parts are broken, since that is when people ask.
type System struct {
	Version  string
	Started  time.Time
	Config   configuration.Config
	Pool     *pgxpool.Pool
	Checks   func() Checks // of modules that are built later too
	Queues   insightv1connect.InsightServiceClient
	Vitals   func(context.Context) (runs.Vitals, error)
	Sinks    func(context.Context) []*insightv1.Component
	Gatherer prometheus.Gatherer
	Clock    clock.Clock
	Log      zerolog.Logger
	Level    *obs.Level // may be nil
}

var _ insightv1connect.SystemServiceHandler = (*System)(nil)

// Mount registers the handler.
func (s *System) Mount(r rpc.Registrar) {
	r.Handle(insightv1connect.NewSystemServiceHandler(s, r.Options()...))
}

// systemTimeout bounds all queries for one response.
const systemTimeout = 5 * time.Second

// GetSystem implements insightv1connect.SystemServiceHandler. It omits what cannot be read; the components say
// why.
func (s *System) GetSystem(ctx context.Context, _ *insightv1.GetSystemRequest) (*insightv1.GetSystemResponse, error) {
	asking, cancel := context.WithTimeout(ctx, systemTimeout)
	defer cancel()
	var (
		group      errgroup.Group
		components []*insightv1.Component
		sinks      []*insightv1.Component
		vitals     *runs.Vitals
		queues     []*insightv1.Queue
		figures    metricSet
	)
	group.Go(func() error { components = s.components(asking); return nil })
	group.Go(func() error {
		seen, err := s.Vitals(asking)
		if err != nil {
			s.Log.Warn().Err(err).Msg("reading the vitals of the runs service failed")
		}
		vitals = &seen
		return nil
	})
	group.Go(func() error {
		answer, err := s.Queues.ListQueues(asking, &insightv1.ListQueuesRequest{})
		if err != nil {
			s.Log.Warn().Err(err).Msg("reading the queues failed")
			return nil
		}
		queues = answer.GetQueues()
		return nil
	})
	group.Go(func() error { sinks = s.Sinks(asking); return nil })
	group.Go(func() error { figures = s.gather(); return nil })
	_ = group.Wait() // nothing above fails
	if err := ctx.Err(); err != nil {
		return nil, err // the caller has disconnected
	}
	host, _ := os.Hostname() // a host without a name is shown without one
	return &insightv1.GetSystemResponse{
		Version:     s.Version,
		GoVersion:   runtime.Version(),
		StartedAt:   timestamppb.New(s.Started),
		Host:        host,
		MemoryBytes: figures.memory(),
		Components:  slices.Concat(components, sinks, loopComponents(vitals.Loops)),
		Figures:     s.figures(components, vitals, queues, figures),
		Repairs:     figures.repaired(),
		Settings:    s.settings(),
	}, nil
}
