// Package outgoing is the controller's end of its link to the API: it says who the controller is and what its cluster has, and sends the
// logs that the API orders. A process opens no port for it.
package outgoing

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/protobuf/proto"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// beatEvery is how often the controller says that it is there. The API counts a cluster as away after 10 s.
	beatEvery = 3 * time.Second
	// beatLimit bounds one beat.
	beatLimit = 5 * time.Second
	// maxSilence is how long the API may send nothing. It sends a sign of life every 3 s.
	maxSilence = 15 * time.Second
	// look is how often nodes are read, unless that takes long: then it is every share times that.
	look  = 15 * time.Second
	share = 100
	// lookLimit bounds one reading of nodes.
	lookLimit = time.Minute
)

// API is the control plane; clustersv1connect.ClusterLinkServiceClient is one.
type API interface {
	Connect(ctx context.Context, r *clustersv1.ConnectRequest) (*connect.ServerStreamForClient[clustersv1.ConnectResponse], error)
	Beat(ctx context.Context, r *clustersv1.BeatRequest) (*clustersv1.BeatResponse, error)
	SendLog(ctx context.Context, r *clustersv1.SendLogRequest) (*clustersv1.SendLogResponse, error)
}

// PodLogs reads the logs of pods here; enginev1connect.PodLogServiceClient is one.
type PodLogs interface {
	TailContainer(ctx context.Context, r *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error)
}

// Deps are what the link needs. All are required, except those that say otherwise.
type Deps struct {
	API  API
	Logs PodLogs
	// Hello fills plugins, task types, policy and labels of a hello.
	Hello func(ctx context.Context, hello *clustersv1.ConnectRequest) error
	// Nodes reads what nodes have; nil means that the controller may not read them.
	Nodes   func(ctx context.Context) (*clustersv1.NodeSummary, error)
	Cluster string
	// Version is the version of this program; empty for one that was built without.
	Version string
	Clock   clock.Clock
	Logger  zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service keeps the link.
type Service struct {
	lifecycle.Background
	deps     Deps
	instance string
	meters   *meters
	nodes    atomic.Pointer[clustersv1.NodeSummary] // as of the last reading; nil before the first
	wanted   atomic.Int32                           // what operators want of the cluster, a clustersv1.ClusterState
	failure  string                                 // that was logged last
	silence  silence

	mu    sync.Mutex
	tails map[string]struct{} // GUARDED_BY(mu): the logs that are sent
	sent  sync.WaitGroup
}

var _ lifecycle.Part = (*Service)(nil)

// New returns the link; nothing runs until Start.
func New(deps Deps) (*Service, error) {
	deps.Logger = deps.Logger.With().Str("service", "link").Logger()
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this host: %w", err)
	}
	s := &Service{deps: deps, instance: host[:min(len(host), 60)] + "-" + strings.ToLower(rand.Text()[:10]), tails: map[string]struct{}{}}
	if s.meters, err = newMeters(deps.Meter); err != nil {
		return nil, err
	}
	return s, nil
}

// Start implements lifecycle.Part.
func (s *Service) Start(ctx context.Context) error {
	return s.Run(s.deps.Logger.WithContext(ctx), s.keep, s.readNodes)
}

// Wanted is what operators want of the cluster, as the API said last; unspecified before it did.
func (s *Service) Wanted() clustersv1.ClusterState { return clustersv1.ClusterState(s.wanted.Load()) }

// keep opens the link again whenever it ends.
func (s *Service) keep(ctx context.Context) {
	defer s.sent.Wait()
	one := &session{Service: s, working: ctx}
	links := stream.Client[clustersv1.ConnectResponse]{
		Open: one.open, MaxSilence: maxSilence, Backoff: backoff.Config{First: 200 * time.Millisecond, Max: 10 * time.Second}, Clock: s.deps.Clock,
		Failed: s.failed,
	}
	links.Follow(ctx, one.follow)
}

// failed reports a failure, once for each kind.
func (s *Service) failed(err error, pause time.Duration) {
	s.meters.failed(err)
	text := err.Error()
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		text = "the API is of a version without links; upgrade it"
	}
	level := zerolog.WarnLevel
	if text == s.failure {
		level = zerolog.DebugLevel
	}
	s.failure = text
	s.deps.Logger.WithLevel(level).Str("error", text).Dur("pause", pause).Msg("the link to the API failed; connecting again")
}

// session is the link that is open now. It is used by one goroutine, apart from its beats.
type session struct {
	*Service
	working context.Context //nolint:containedctx // that of the service: logs continue over the next link
	hello   *clustersv1.ConnectRequest
	greeted time.Time // when the hello was sent
	end     context.CancelFunc
}

func (l *session) open(ctx context.Context) (*connect.ServerStreamForClient[clustersv1.ConnectResponse], error) {
	hello := &clustersv1.ConnectRequest{Cluster: l.deps.Cluster, Instance: l.instance, Version: l.deps.Version, Nodes: l.nodes.Load()}
	if err := l.deps.Hello(ctx, hello); err != nil {
		return nil, err
	}
	ctx, l.end = context.WithCancel(ctx)
	l.hello, l.greeted = hello, l.deps.Clock.Now()
	return l.deps.API.Connect(ctx, hello)
}

func (l *session) follow(ctx context.Context, messages *stream.Stream[clustersv1.ConnectResponse]) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var beats sync.WaitGroup
	defer func() {
		cancel(nil)
		beats.Wait()
		l.meters.linked(false)
	}()
	for message := range messages.All() {
		switch m := message.GetMessage().(type) {
		case *clustersv1.ConnectResponse_Welcome:
			messages.Complete()
			l.failure = ""
			l.silence.acknowledged(l.greeted, l.deps.Clock.Now())
			l.meters.linked(true)
			l.order(m.Welcome.GetState())
			beats.Go(func() {
				if err := l.beat(ctx, m.Welcome.GetLink()); err != nil && ctx.Err() == nil {
					cancel(err)
					l.end()
				}
			})
		case *clustersv1.ConnectResponse_State:
			l.order(m.State.GetState())
		case *clustersv1.ConnectResponse_Tail:
			l.start(l.working, m.Tail)
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// order notes what operators want of the cluster.
func (s *Service) order(wanted clustersv1.ClusterState) {
	if before := s.wanted.Swap(int32(wanted)); before != int32(wanted) && before != 0 {
		s.deps.Logger.Info().Stringer("state", wanted).Msg("the state of the cluster was changed")
	}
}

// errChanged ends a link whose hello is no longer true.
var errChanged = errors.New("what the cluster can run has changed")

// beat sends beats until ctx ends, or the link has to be opened again.
func (l *session) beat(ctx context.Context, link string) error {
	said := l.hello.GetNodes()
	silent := l.deps.Clock.Now()
	for clock.Sleep(ctx, l.deps.Clock, beatEvery) == nil {
		request := &clustersv1.BeatRequest{Cluster: l.deps.Cluster, Instance: l.instance, Link: link}
		nodes := l.nodes.Load()
		if !proto.Equal(nodes, said) {
			request.Nodes = nodes
		}
		limited, cancel := context.WithTimeout(ctx, beatLimit)
		sent := l.deps.Clock.Now()
		_, err := l.deps.API.Beat(limited, request)
		cancel()
		now := l.deps.Clock.Now()
		switch {
		case err == nil:
			said, silent = nodes, now
			l.silence.acknowledged(sent, now)
		case ctx.Err() != nil:
			return ctx.Err()
		case connect.CodeOf(err) == connect.CodeFailedPrecondition, now.Sub(silent) > maxSilence:
			return err
		}
		if l.changed(ctx) {
			return errChanged
		}
	}
	return nil
}

// changed reports whether the hello of the link is no longer true.
func (l *session) changed(ctx context.Context) bool {
	now := &clustersv1.ConnectRequest{Cluster: l.hello.GetCluster(), Instance: l.instance, Version: l.deps.Version, Nodes: l.hello.GetNodes()}
	return l.deps.Hello(ctx, now) == nil && !proto.Equal(now, l.hello)
}

// readNodes reads again and again what nodes have. It takes at most one hundredth of the time.
func (s *Service) readNodes(ctx context.Context) {
	if s.deps.Nodes == nil {
		return
	}
	failure := ""
	for {
		began := s.deps.Clock.Now()
		limited, cancel := context.WithTimeout(ctx, lookLimit)
		nodes, err := s.deps.Nodes(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failure = ""
			s.nodes.Store(nodes)
		case err.Error() != failure:
			failure = err.Error()
			s.deps.Logger.Warn().Err(err).Msg("the capacity of the cluster cannot be read, and is unknown to the API")
			s.nodes.Store(&clustersv1.NodeSummary{})
		}
		if clock.Sleep(ctx, s.deps.Clock, max(look, share*s.deps.Clock.Now().Sub(began))) != nil {
			return
		}
	}
}
