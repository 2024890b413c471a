package manager

import (
	"context"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyte-binary/flyte-binary/access/authserver"
	accessstore "github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/apps/gateway"
	"github.com/flyte-binary/flyte-binary/console"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/health"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/tokenpath"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/port"
	"github.com/flyte-binary/flyte-binary/manager/system"
	"github.com/flyte-binary/flyte-binary/mcp"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

func buildProfiles(_ context.Context, p *process) (lifecycle.Part, error) {
	return &profiles{address: p.config.Telemetry.DebugListen, chain: p.chain}, nil
}

func buildSystem(_ context.Context, p *process) (lifecycle.Part, error) {
	(&system.System{
		Version: p.options.Version, Started: p.clock.Now(), Config: p.config, Pool: p.pool, Checks: func() system.Checks { return p.checks }, Queues: p.peers.insight(),
		Sinks: func(ctx context.Context) []*insightv1.Component {
			sinks := system.SinkComponents(ctx, p.config.EventStream.Names(), worklists.NewUnpublished(p.pool), p.clock)
			sinks = append(sinks, system.AuditSinkComponents(ctx, p.config.EventStream.AuditNames(), accessstore.New(p.pool, p.clock).AuditWaiting, p.clock)...)
			if p.options.MachineParts == nil {
				return sinks
			}
			return append(p.options.MachineParts(ctx), sinks...)
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

// buildMCP serves agents. Their tools call the port's own procedures, each with the credential of its caller.
func buildMCP(_ context.Context, p *process) (lifecycle.Part, error) {
	deps := mcp.Deps{
		API: p.mux, PublicURL: p.config.Access.PublicURL, Version: p.options.Version, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	}
	if server := p.access.AuthorizationServer(); server != nil {
		deps.Authorization = &mcp.Authorization{URL: server.URL, Issuer: server.Issuer(), Scopes: authserver.Scopes()}
	}
	service, err := mcp.New(p.config.MCP, deps)
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return lifecycle.Idle{}, nil
}

func buildGateway(_ context.Context, p *process) (lifecycle.Part, error) {
	deps := gateway.Deps{
		Apps: p.peers.appRoutes(), Door: p.mux.Door("/apps/"), Open: p.open, PublicURL: p.config.Access.PublicURL, Hidden: p.config.Access.ProxyHeaders(), Stopping: p.chain.Stopping,
		Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	}
	if visitors := p.access.Visitors(); visitors != nil {
		deps.SignIn = visitors
	}
	if assertions := p.access.Assertions(); assertions != nil {
		deps.Assertions = assertions
	}
	service, err := gateway.New(p.config.Gateway, deps)
	if err != nil {
		return nil, err
	}
	p.degrades("app routes", service.Check)
	p.gateway = service
	return service, nil
}

// clientAuthorities are those whose certificates clients of the port may present.
func (p *process) clientAuthorities() []*certfiles.Authorities {
	var all []*certfiles.Authorities
	if processes := p.mutual.Authorities(); processes != nil {
		all = append(all, processes)
	}
	if p.access != nil {
		if proxies := p.access.ProxyAuthorities(); proxies != nil {
			all = append(all, proxies)
		}
	}
	return all
}

// buildPort puts everything that was mounted behind the listener. With the API, services of the contract that no module
// mounted answer unimplemented.
func buildPort(_ context.Context, p *process) (lifecycle.Part, error) {
	health.Service{Ready: p.ready, Serves: p.mux.Has, Clock: p.clock}.Mount(p.mux)
	rpc.MountReflection(p.mux, p.mux.Services)
	if p.config.Target.API() {
		port.MountUnbuilt(p.mux)
	}
	if err := p.measure(); err != nil {
		return nil, err
	}
	served := port.Routes{
		API: p.mux, Console: p.console, Alive: p.alive, Ready: http.HandlerFunc(p.serveReady), Metrics: p.telemetry.Handler(p.options.metrics()...),
		Level: port.LogLevel{Level: p.options.LogLevel, Log: p.log},
	}
	if files := p.blobs.Handler(); p.config.Target.API() && files != nil {
		var err error
		if served.Files, err = port.CountLinks(files, p.telemetry.Meter); err != nil {
			return nil, err
		}
	}
	hosts := browserguard.NewHosts(append(slices.Clone(p.config.Server.AllowedHosts), p.config.Server.Listen,
		p.config.Storage.PublicURL, p.config.Access.PublicURL, p.config.Runs.Webhooks.PublicURL, p.config.Executor.Pod.Endpoint)...)
	if names := p.options.MachineNames; names != nil {
		hosts = hosts.OnMachine(names...)
	}
	clients, err := port.NewClients(p.config.Server, p.log, loglimit.New(p.clock), p.telemetry.Meter)
	if err != nil {
		return nil, err
	}
	handler := port.Guard(p.config.Server.AllowedOrigins, hosts, served.Mount())
	if p.gateway != nil {
		// In front of the guard: apps have hosts, origins and paths of their own.
		handler = p.gateway.Handler(hosts, handler)
	}
	// In front of everything: nothing else may see a token in a path.
	p.port, err = port.NewPort(p.config.Server, p.listener, tokenpath.Cut(handler), clients, p.clientAuthorities(), p.beginStop, p.clock, p.log)
	return p.port, err
}
