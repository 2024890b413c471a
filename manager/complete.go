package manager

import (
	"context"
	"errors"
	"fmt"
	"net"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flyte-binary/flyte-binary/executor/measure"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/layers"
	"github.com/flyte-binary/flyte-binary/manager/port"
	"github.com/flyte-binary/flyte-binary/runs/images"
)

// Options are what a caller passes in addition to the configuration. The zero value works.
type Options struct {
	// Logger is the log; the zero value drops everything.
	Logger zerolog.Logger
	// LogLevel changes the level of Logger while the server runs; nil means that it cannot be changed.
	LogLevel *obs.Level
	// Clock is the source of time; nil means the system's.
	Clock clock.Clock
	// REST reaches the cluster; nil means Config.Kubernetes.
	REST *rest.Config
	// Pace counts the calls to the API server, those of others to the same one too; nil means this process's alone.
	Pace *apipace.Meter
	// Listener is the port; nil means Config.Server.Listen. The server closes it.
	Listener net.Listener
	// Authenticator says who calls; nil means that of Config.Auth.
	Authenticator authz.Authenticator
	// Authoriser says what callers may do; nil means that of Config.Auth.
	Authoriser authz.Authoriser
	// Auditor records what callers do; nil means that nothing is recorded.
	Auditor authz.Auditor
	// Version is that of the program, for telemetry.
	Version string
	// RunDeleted, if set, is called for each run that retention deletes, to clean up elsewhere. It may be called twice
	// for a run; after an error it is called again.
	RunDeleted func(ctx context.Context, project, domain, run string) error
	// Images knows the images that exist on this machine; nil means those that runs of runs.images.builder have built.
	Images images.Catalog
	// MachineNames are the names of the machine if the server runs on one that is not part of a cluster; other names without a dot
	// are then refused, as are those of Kubernetes services. nil means that the server runs in a cluster or in a network of its own.
	MachineNames []string
	// MachineParts describes parts of the machine, such as its GPUs, for the page of the system; nil means none.
	MachineParts func(context.Context) []*insightv1.Component
	// Nodes reads what the pods of a node use; nil means its kubelet, or else the metrics API.
	Nodes measure.Source
	// Metrics are those of parts around the server, which are served with its own. nil means none.
	Metrics prometheus.Gatherer
}

// metrics are the registries in addition to the server's own.
func (o Options) metrics() prometheus.Gatherers {
	all := prometheus.Gatherers{ctrlmetrics.Registry}
	if o.Metrics != nil {
		all = append(all, o.Metrics)
	}
	return all
}

func (o Options) runDeleted(ctx context.Context, run ident.Run) error {
	if o.RunDeleted == nil {
		return nil
	}
	return o.RunDeleted(ctx, run.Project, run.Domain, run.Name)
}

// Complete opens what the configuration names and puts the services of its target together. Nothing runs until Start. When
// it fails, what was opened is closed again. It makes what every process has: the port's listener, telemetry, the chain of
// interceptors and the clients of services. The rest is the table of modules.
func Complete(ctx context.Context, c configuration.Config, options Options) (server *Server, failure error) {
	if err := c.Validate(); err != nil {
		return nil, &configuration.ConfigError{Cause: layers.Origins(nil).Locate(err)}
	}
	selected, err := modules().Select(configuration.Targets()[c.Target]...)
	if err != nil {
		return nil, err
	}
	p := &process{options: options, log: options.Logger, clock: options.Clock, installation: c.Replicas.Installation}
	if p.clock == nil {
		p.clock = failpoint.Clock(clock.System{})
	}
	if p.pace = options.Pace; p.pace == nil {
		p.pace = apipace.NewMeter(p.clock)
	}
	defer func() {
		if failure != nil {
			failure = errors.Join(failure, p.close(context.WithoutCancel(ctx)))
		}
	}()
	if p.listener, err = port.Listen(c.Server, options.Listener); err != nil {
		return nil, err
	}
	p.onClose(func(context.Context) error { return closeListener(p.listener) })
	fillAddresses(&c, p.listener.Addr())
	fillCopilot(&c)
	p.config = c
	if p.telemetry, err = obs.NewTelemetry(ctx, c.Telemetry, options.Version, metricLabels()); err != nil {
		return nil, err
	}
	p.onClose(p.telemetry.Shutdown)
	stopping, beginStop := context.WithCancel(p.log.WithContext(context.WithoutCancel(ctx)))
	p.beginStop = beginStop
	p.onClose(func(context.Context) error { beginStop(); return nil })
	certificates, err := certfiles.NewMutual(c.Auth.TLS.Files(), p.clock, p.log)
	if err != nil {
		return nil, fmt.Errorf("auth.tls: %w", err)
	}
	p.mutual = certificates
	p.chain = rpc.Chain{
		Log: p.log, Tracer: p.telemetry.Tracer, Meter: p.telemetry.Meter, Stopping: stopping, InternalToken: c.Auth.InternalToken,
		InternalPeer: certificates.Peer(), Auditor: options.Auditor, Clock: p.clock, Limits: rpc.Limits{MessageBytes: c.Server.MaxRequestBytes, DecodingBytes: c.Server.MaxDecodingBytes},
	}
	p.chain.Authenticator, p.chain.Authoriser, p.open = policy(c, options)
	if err := checkOpen(c, p.open, p.listener.Addr()); err != nil {
		return nil, &configuration.ConfigError{Cause: layers.Origins(nil).Locate(err)}
	}
	p.mux, err = rpc.NewGuardedMux(p.chain, connect.WithCompressMinBytes(port.CompressFrom))
	if err != nil {
		return nil, err
	}
	p.peers = newPeers(c, certificates, p.mux)
	p.peers.tokenless = c.Target.API() && !closed(c, options) // a controller does not know; the API answers it with no token
	p.onClose(func(context.Context) error { p.peers.network.CloseIdleConnections(); return nil })
	parts, err := selected.Build(ctx, p)
	if err != nil {
		return nil, err
	}
	return &Server{process: p, parts: parts}, nil
}
