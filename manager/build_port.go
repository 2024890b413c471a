package manager

import (
	"context"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyte-binary/flyte-binary/apps/gateway"
	"github.com/flyte-binary/flyte-binary/console"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
	"github.com/flyte-binary/flyte-binary/internal/wire/health"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/system"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

func buildProfiles(_ context.Context, p *process) (lifecycle.Part, error) {
	return &profiles{address: p.config.Telemetry.DebugListen, chain: p.chain}, nil
}

func buildSystem(_ context.Context, p *process) (lifecycle.Part, error) {
	(&system.System{
		Version: p.options.Version, Started: p.clock.Now(), Config: p.config, Pool: p.pool, Checks: func() system.Checks { return p.checks }, Queues: p.peers.insight(),
		Sinks: func(ctx context.Context) []*insightv1.Component {
			return system.SinkComponents(ctx, p.config.EventStream.Names(), worklists.NewUnpublished(p.pool), p.clock)
		},
		Level: p.options.LogLevel, Vitals: p.runs.Vitals, Gatherer: append(prometheus.Gatherers{p.telemetry.Registry}, p.options.metrics()...), Clock: p.clock, Log: p.log,
	}).Mount(p.mux)
	return lifecycle.Idle{}, nil
}

func buildConsole(_ context.Context, p *process) (lifecycle.Part, error) {
	pages, err := console.New(console.Config{StoreOrigins: p.blobs.Origins()})
	if err != nil {
		return nil, err
	}
	p.console = pages
	return lifecycle.Idle{}, nil
}

func buildGateway(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := gateway.New(p.config.Gateway, gateway.Deps{
		Apps: p.peers.appRoutes(), Door: p.mux.Door("/apps/"), Open: p.open, Stopping: p.chain.Stopping, Clock: p.clock, Logger: p.log,
		Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	p.degrades("app routes", service.Check)
	p.gateway = service
	return service, nil
}

// buildPort puts everything that was mounted behind the listener. With the API, services of the contract that no module
// mounted answer unimplemented.
func buildPort(_ context.Context, p *process) (lifecycle.Part, error) {
	health.Service{Ready: p.ready, Serves: p.mux.Has, Clock: p.clock}.Mount(p.mux)
	rpc.MountReflection(p.mux, p.mux.Services)
	if p.config.Target.Api() {
		mountUnbuilt(p.mux)
	}
	if err := p.measure(); err != nil {
		return nil, err
	}
	served := routes{
		api: p.mux, console: p.console, alive: p.alive, ready: http.HandlerFunc(p.serveReady), metrics: p.telemetry.Handler(p.options.metrics()...),
		level: logLevel{level: p.options.LogLevel, log: p.log},
	}
	if p.config.Target.Api() {
		served.files = p.blobs.Handler()
	}
	hosts := browserguard.NewHosts(append(slices.Clone(p.config.Server.AllowedHosts), p.config.Server.Listen,
		p.config.Storage.PublicURL, p.config.Runs.Webhooks.PublicURL, p.config.Executor.Pod.Endpoint)...)
	if names := p.options.MachineNames; names != nil {
		hosts = hosts.OnMachine(names...)
	}
	clients, err := newClients(p.config.Server, p.log, loglimit.New(p.clock), p.telemetry.Meter)
	if err != nil {
		return nil, err
	}
	handler := guard(p.config.Server.AllowedOrigins, hosts, served.mount())
	if p.gateway != nil {
		// In front of the guard: apps have hosts, origins and paths of their own.
		handler = p.gateway.Handler(hosts, handler)
	}
	p.port = newPort(p.config.Server, p.listener, handler, clients, p.beginStop, p.log)
	return p.port, nil
}
