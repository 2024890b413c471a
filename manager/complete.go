package manager

import (
	"context"
	"errors"
	"fmt"
	"net"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flyte-binary/flyte-binary/actions"
	"github.com/flyte-binary/flyte-binary/actions/bridge"
	cacheservice "github.com/flyte-binary/flyte-binary/cache_service"
	"github.com/flyte-binary/flyte-binary/console"
	"github.com/flyte-binary/flyte-binary/dataproxy"
	"github.com/flyte-binary/flyte-binary/events"
	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2connect "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Options are what a caller hands over beside the configuration. The zero value works.
type Options struct {
	// Logger is the log; the zero value drops everything.
	Logger zerolog.Logger
	// Clock tells time; nil means the system's.
	Clock clock.Clock
	// REST reaches the cluster; nil means Config.Kubernetes.
	REST *rest.Config
	// Listener is the port; nil means Config.Server.Listen. The server closes it.
	Listener net.Listener
	// Version is that of the program, for telemetry.
	Version string
	// RunDeleted, where set, is told of each run that retention deletes, to clean up what lies elsewhere. It may be
	// told twice; an error makes it be told again.
	RunDeleted func(ctx context.Context, project, domain, run string) error
}

func (o Options) runDeleted(ctx context.Context, run ident.Run) error {
	if o.RunDeleted == nil {
		return nil
	}
	return o.RunDeleted(ctx, run.Project, run.Domain, run.Name)
}

// Complete opens what the configuration names and puts the services together. Nothing runs until Start. When it
// fails, what was opened is closed again. It reads from top to bottom: what the services stand on, how they reach each
// other, the services, the port.
func (c Config) Complete(ctx context.Context, options Options) (server *Server, failure error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	c.elect()
	log, clk := options.Logger, options.Clock
	if clk == nil {
		clk = failpoint.Clock(clock.System{})
	}
	s := &Server{config: c, log: log, parts: lifecycle.NewGroup()}
	defer func() {
		if failure != nil {
			failure = errors.Join(failure, s.close(context.WithoutCancel(ctx)))
		}
	}()

	// What the services stand on.
	listener, err := listen(c.Server, options.Listener)
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return closeListener(listener) })
	c.fillAddresses(listener.Addr())
	c.fillCopilot()
	telemetry, err := obs.NewTelemetry(ctx, c.Telemetry, options.Version)
	if err != nil {
		return nil, err
	}
	s.onClose(telemetry.Shutdown)
	pool, err := openDatabase(ctx, c, telemetry)
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { pool.Close(); return nil })
	installation := c.Replicas.Installation
	if installation == "" {
		if installation, err = store.Installation(ctx, pool); err != nil {
			return nil, err
		}
	}
	blobs, err := blobstore.Open(ctx, c.Storage, blobstore.WithClock(clk))
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return blobs.Close() })
	cluster, err := c.Kubernetes.rest(options.REST, clk, log)
	if err != nil {
		return nil, err
	}

	// How calls come in, and how services of this process reach each other.
	stopping, beginStop := context.WithCancel(log.WithContext(context.WithoutCancel(ctx)))
	s.onClose(func(context.Context) error { beginStop(); return nil })
	interceptors, err := rpc.NewInterceptors(rpc.Chain{
		Log: log, Tracer: telemetry.Tracer, Meter: telemetry.Meter, Stopping: stopping, InternalToken: c.Auth.InternalToken,
	})
	if err != nil {
		return nil, err
	}
	mux := rpc.NewMux(connect.WithHandlerOptions(
		interceptors, connect.WithReadMaxBytes(c.Server.MaxRequestBytes), connect.WithCompressMinBytes(compressFrom),
	))
	inProcess := rpc.InProcess(mux)
	engineClient := enginev1connect.NewEngineServiceClient(inProcess, rpc.InProcessURL)
	runClient := workflowconnect.NewRunServiceClient(inProcess, rpc.InProcessURL)
	taskClient := taskconnect.NewTaskServiceClient(inProcess, rpc.InProcessURL)
	projectClient := projectconnect.NewProjectServiceClient(inProcess, rpc.InProcessURL)
	settingsClient := settingsconnect.NewSettingsServiceClient(inProcess, rpc.InProcessURL)
	podLogClient := enginev1connect.NewPodLogServiceClient(inProcess, rpc.InProcessURL)
	cacheClient := cachev2connect.NewCacheServiceClient(inProcess, rpc.InProcessURL)
	globalCacheClient := cacheserviceconnect.NewCacheServiceClient(inProcess, rpc.InProcessURL)
	internalRunClient := workflowconnect.NewInternalRunServiceClient(inProcess, rpc.InProcessURL)

	// The services, in the order of the data.
	cacheService, err := cacheservice.New(c.Cache, cacheservice.Deps{Pool: pool, Blobs: blobs, Clock: clk, Logger: log})
	if err != nil {
		return nil, err
	}
	cacheService.Mount(mux)
	runsService, err := runs.New(c.Runs, runs.Deps{
		Pool: pool, Blobs: blobs, Clock: clk, Logger: log, Meter: telemetry.Meter, RunDeleted: options.runDeleted,
		Cache: cacheClient, GlobalCache: globalCacheClient,
	})
	if err != nil {
		return nil, err
	}
	runsService.Mount(mux)
	eventsService, err := events.New(c.Events, events.Deps{Engine: engineClient, Clock: clk, Logger: log})
	if err != nil {
		return nil, err
	}
	eventsService.Mount(mux)
	actionsService, err := actions.New(c.Actions, actions.Deps{
		Recorder: internalRunClient, Children: engineClient, Runs: runClient, Clock: clk, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	actionsService.Mount(mux)
	bridgeService, err := bridge.New(c.Bridge, bridge.Deps{
		Kubernetes: cluster, Engine: engineClient, Events: eventsService.Sink(), Clock: clk, Logger: log, Meter: telemetry.Meter,
		Installation: installation,
	})
	if err != nil {
		return nil, err
	}
	executorService, err := executor.New(c.Executor, executor.Deps{
		Kube: cluster, Sink: eventsService.Sink(), Store: blobs, Clock: clk, Logger: log, Installation: installation, Meter: telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	executorService.Mount(mux)
	dataproxyService, err := dataproxy.New(c.DataProxy, dataproxy.Deps{
		Store: blobs, Runs: runClient, Tasks: taskClient, Projects: projectClient, Engine: engineClient, PodLogs: podLogClient,
		Settings: settingsClient,
		Clock:    clk, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	dataproxyService.Mount(mux)

	// The port, with everything on it.
	ready := readiness(pool, blobs, cluster)
	rpc.Health{Ready: ready.check, Serves: mux.Has, Clock: clk}.Mount(mux)
	(&system{
		version: options.Version, started: clk.Now(), config: c, pool: pool, checks: ready,
		queues: insightv1connect.NewInsightServiceClient(inProcess, rpc.InProcessURL), vitals: runsService.Vitals,
		gatherer: prometheus.Gatherers{telemetry.Registry, ctrlmetrics.Registry}, clock: clk, log: log,
	}).mount(mux)
	rpc.MountReflection(mux, mux.Services)
	mountUnbuilt(mux)
	pages, err := console.New(console.Config{StoreOrigins: blobs.Origins()})
	if err != nil {
		return nil, err
	}
	s.port = newPort(c.Server, listener, routes{
		api: mux, files: blobs.Handler(), console: pages, ready: ready, metrics: telemetry.Handler(ctrlmetrics.Registry),
	}.handler(), beginStop, log)

	// Dependencies first; the port answers only when all of it works.
	s.parts = lifecycle.NewGroup(
		lifecycle.Named{Name: "profiles", Part: &profiles{address: c.Telemetry.DebugListen}},
		lifecycle.Named{Name: "cache", Part: cacheService},
		lifecycle.Named{Name: "runs", Part: runsService},
		lifecycle.Named{Name: "executor", Part: executorService},
		lifecycle.Named{Name: "bridge", Part: bridgeService},
		lifecycle.Named{Name: "port", Part: s.port},
	)
	return s, nil
}

func openDatabase(ctx context.Context, c Config, telemetry *obs.Telemetry) (*pgxpool.Pool, error) {
	var options []pgdb.Option
	if c.Telemetry.OTLPEndpoint != "" {
		options = append(options, pgdb.WithTracer(telemetry.Tracer))
	}
	pool, err := pgdb.Open(ctx, c.Database, options...)
	if err != nil {
		return nil, err
	}
	if c.Database.Migrate {
		if err := pgdb.Migrate(ctx, pool, Schemas()...); err != nil {
			pool.Close()
			return nil, fmt.Errorf("migrate database: %w", err)
		}
	}
	return pool, nil
}
