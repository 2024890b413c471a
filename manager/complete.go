package manager

import (
	"context"
	"errors"
	"fmt"
	"net"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/actions"
	"github.com/flyte-binary/flyte-binary/events"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
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
	// Listener is the port; nil means Config.Server.Listen.
	Listener net.Listener
}

// Complete opens what the configuration names and puts the services together. Nothing runs until Start. When it
// fails, what was opened is closed again.
func (c Config) Complete(ctx context.Context, options Options) (server *Server, failure error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if options.Clock == nil {
		options.Clock = clock.System{}
	}
	log := options.Logger
	s := &Server{config: c, log: log, clock: options.Clock}
	defer func() {
		if failure != nil {
			failure = errors.Join(failure, s.close())
		}
	}()

	// What the services stand on.
	pool, err := openDatabase(ctx, c.Database)
	if err != nil {
		return nil, err
	}
	s.onClose(func() error { pool.Close(); return nil })
	blobs, err := blobstore.Open(ctx, c.Storage, blobstore.WithClock(options.Clock))
	if err != nil {
		return nil, fmt.Errorf("open storage: %w", err)
	}
	s.onClose(blobs.Close)
	cluster, err := c.Kubernetes.rest(options.REST)
	if err != nil {
		return nil, err
	}

	// The port, and the way on which services of this process reach each other.
	interceptors, err := rpc.NewInterceptors(rpc.Chain{Log: log, InternalToken: c.Auth.InternalToken})
	if err != nil {
		return nil, err
	}
	mux := rpc.NewMux(connect.WithHandlerOptions(interceptors, connect.WithReadMaxBytes(c.Server.MaxRequestBytes)))
	inProcess := rpc.InProcess(mux)
	engine := enginev1connect.NewEngineServiceClient(inProcess, rpc.InProcessURL)
	runService := workflowconnect.NewRunServiceClient(inProcess, rpc.InProcessURL)
	internalRuns := workflowconnect.NewInternalRunServiceClient(inProcess, rpc.InProcessURL)

	// The services, in the order of the data.
	runsService, err := runs.New(c.Runs, runs.Deps{Pool: pool, Blobs: blobs, Clock: options.Clock, Logger: log})
	if err != nil {
		return nil, err
	}
	eventsService, err := events.New(c.Events, events.Deps{Engine: engine, Clock: options.Clock, Logger: log})
	if err != nil {
		return nil, err
	}
	actionsService, err := actions.New(c.Actions, actions.Deps{
		Recorder: internalRuns, Children: engine, Runs: runService, Clock: options.Clock, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	for _, service := range []interface{ Mount(rpc.Registrar) }{runsService, eventsService, actionsService} {
		service.Mount(mux)
	}

	s.ready = readiness(pool, blobs, cluster)
	rpc.Health{Ready: s.ready.check, Serves: mux.Has, Clock: options.Clock}.Mount(mux)
	rpc.MountReflection(mux, mux.Services)
	port, err := newPort(c.Server, options.Listener, s.routes(mux, blobs), log)
	if err != nil {
		return nil, err
	}
	s.port = port
	s.parts = lifecycle.NewGroup(
		lifecycle.Named{Name: "runs", Part: runsService},
		lifecycle.Named{Name: "port", Part: port},
	)
	return s, nil
}

func openDatabase(ctx context.Context, config pgdb.Config) (*pgxpool.Pool, error) {
	pool, err := pgdb.Open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if config.Migrate {
		if err := pgdb.Migrate(ctx, pool, store.Migrations()); err != nil {
			pool.Close()
			return nil, fmt.Errorf("migrate database: %w", err)
		}
	}
	return pool, nil
}
