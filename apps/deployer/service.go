package deployer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Fleet is the part of the apps service that says what should run and takes reports.
type Fleet interface {
	WatchApps(ctx context.Context, r *enginev1.WatchAppsRequest) (*connect.ServerStreamForClient[enginev1.WatchAppsResponse], error)
	ReportApps(ctx context.Context, r *enginev1.ReportAppsRequest) (*enginev1.ReportAppsResponse, error)
}

// Store is where the logs of replicas are kept.
type Store interface {
	NewWriter(ctx context.Context, uri string) (io.WriteCloser, error)
	// Root is the URI of the object store.
	Root() string
}

// Leader decides on which replica apps are deployed.
type Leader interface {
	// While calls work in each term of this replica and returns when ctx ends.
	While(ctx context.Context, work func(ctx context.Context))
}

// Deps are what the service needs.
type Deps struct {
	// Kube reaches the cluster.
	Kube *rest.Config
	// Fleet is the apps service.
	Fleet Fleet
	// Store takes the logs of replicas that end.
	Store Store
	// Secrets reads the values of secrets; nil means that there are none.
	Secrets plugin.Secrets
	// Tokens issues the tokens by which apps call the server; nil means that they need none.
	Tokens plugin.Tokens
	// Pod says how pods look: the section executor.pod.
	Pod podspec.Config
	// Logs says how much of a log is kept: the section executor.logs.
	Logs logs.Config
	// Namespace and Namespaces say where pods go, as for tasks.
	Namespace  namespaces.Template
	Namespaces namespaces.Config
	// Only limits the deployer to some namespaces; empty means all.
	Only []string
	// Leader elects one replica; nil means that this one always leads.
	Leader Leader
	// Installation is the id of this installation; objects of others in the same cluster are left alone. Empty means that
	// all objects in the cluster are ours.
	Installation string
	// Cluster is the id of the cluster; empty means the default one.
	Cluster string
	// Clock tells the time; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service deploys apps while it leads.
type Service struct {
	background lifecycle.Background
	config     Config
	deps       Deps
	kube       *rest.Config
	clientset  kubernetes.Interface
	meters     *meters
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together. It does not connect to the cluster yet.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("deployer: %w", err)
	}
	if deps.Kube == nil || deps.Fleet == nil || deps.Store == nil {
		return nil, errors.New("deployer: the cluster, the apps service and the object store are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	deps.Logger = deps.Logger.With().Str("service", "deployer").Logger()
	kube := rest.CopyConfig(deps.Kube)
	if kube.QPS == 0 {
		kube.QPS = -1 // The API server's fairness and the number of workers limit us.
	}
	kube.UserAgent = "flyte-binary/deployer"
	clientset, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("deployer: client of the cluster: %w", err)
	}
	figures, err := newMeters(deps.Meter, deps.Clock)
	if err != nil {
		return nil, fmt.Errorf("deployer: %w", err)
	}
	return &Service{config: config, deps: deps, kube: kube, clientset: clientset, meters: figures}, nil
}

// Start implements lifecycle.Part. It does not wait for the API server or the apps service: both may be unavailable.
func (s *Service) Start(ctx context.Context) error {
	return s.background.Run(ctx, func(ctx context.Context) {
		if s.deps.Leader == nil {
			s.lead(ctx)
			return
		}
		s.deps.Leader.While(ctx, s.lead)
	})
}

// Stop implements lifecycle.Part. Apps keep running.
func (s *Service) Stop(ctx context.Context) error { return s.background.Stop(ctx) }

// lead is one term of this replica. It begins without any knowledge.
func (s *Service) lead(ctx context.Context) {
	session, err := newSession(s)
	if err != nil {
		s.deps.Logger.Error().Err(err).Msg("cannot deploy apps")
		<-ctx.Done()
		return
	}
	s.meters.term.Store(session)
	defer s.meters.term.Store(nil)
	session.run(ctx)
}
