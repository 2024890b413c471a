// Package gateway passes requests on to apps: it learns from the apps service where their replicas are, wakes those that
// sleep, and reports how much load there is. It is a handler in front of the server's own, for the paths below /apps/ and
// for the hosts of apps. It meets the apps service through its generated client.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// serviceName is who calls the apps service.
const serviceName = "gateway"

// brokenAfter is how long there may be no stream of routes until the process counts as degraded.
const brokenAfter = 30 * time.Second

// Deps are the dependencies of the service. Apps and Door are required.
type Deps struct {
	// Apps is the apps service.
	Apps enginev1connect.AppRouteServiceClient
	// Door says who calls.
	Door Door
	// Open means that the installation has no authentication.
	Open bool
	// SignIn lets browsers sign in; nil if no one signs in.
	SignIn SignIn
	// Assertions tells apps who calls; nil if nothing does.
	Assertions Assertions
	// Hidden are further headers of clients that no app gets.
	Hidden []string
	// PublicURL is where browsers reach the installation. The hosts of apps have its scheme and its port.
	PublicURL string
	// Stopping ends when the process begins to stop: streams end, and requests that wait are refused. Nil means never.
	Stopping context.Context //nolint:containedctx // it is a signal
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service follows the routes and reports the load, from Start to Stop.
type Service struct {
	lifecycle.Background
	config    Config
	deps      Deps
	routes    *routes
	book      *book
	line      *line
	networks  networks
	attendant *attendant
	watcher   *watcher
	reporter  *reporter
	sender    *sender
	meters    *meters
	lines     *loglimit.Limit
	stop      context.CancelFunc
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if deps.Apps == nil || deps.Door == nil {
		return nil, errors.New("gateway: the client of the apps service and the door are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	if deps.Stopping == nil {
		deps.Stopping = context.Background()
	}
	deps.Logger = deps.Logger.With().Str("service", serviceName).Logger()
	s := &Service{
		config: config, deps: deps, lines: loglimit.New(deps.Clock), book: &book{active: map[*app]struct{}{}},
		line: &line{perApp: config.MaxWaiting, total: config.MaxWaitingTotal},
	}
	var err error
	if s.networks.internal, err = outbound.Prefixes(config.InternalNetworks); err != nil {
		return nil, fmt.Errorf("gateway: internalNetworks%w", err)
	}
	if s.networks.proxies, err = outbound.Prefixes(config.TrustedProxies); err != nil {
		return nil, fmt.Errorf("gateway: trustedProxies%w", err)
	}
	if s.meters, err = newMeters(deps.Meter, config.MetricApps, s.line); err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(authz.AsService(context.Background(), serviceName))
	s.stop = stop
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	s.attendant = &attendant{waker: deps.Apps, dialer: dialer, clock: deps.Clock, log: deps.Logger, meters: s.meters, ctx: working}
	far := newDistances(config.Near)
	s.sender = newSender(config, dialer, far, s.meters)
	s.routes = &routes{apps: map[string]*app{}, forget: s.meters.forget, create: func(route *enginev1.AppRoute) *app {
		return newApp(route.GetUid(), s.line, far, s.attendant.call)
	}}
	id := rand.Text()
	s.watcher = &watcher{
		gateway: id, source: deps.Apps, routes: s.routes, maxSilence: config.MaxSilence, clock: deps.Clock, log: deps.Logger, lines: s.lines,
	}
	s.reporter = &reporter{gateway: id, loads: deps.Apps, book: s.book, clock: deps.Clock, log: deps.Logger}
	return s, nil
}

// Handler serves the requests of apps, and passes all others on to next. own are the names of the server.
func (s *Service) Handler(own Hosts, next http.Handler) http.Handler {
	h := &handler{
		config: s.config, networks: s.networks, own: own, next: next, routes: s.routes, book: s.book, door: s.deps.Door, open: s.deps.Open,
		visitors: newVisitors(s.deps.SignIn, s.deps.PublicURL), assertions: s.deps.Assertions,
		hidden: hidden(s.deps.Hidden),
		warn:   new(sync.Once), stopping: s.deps.Stopping, meters: s.meters, log: s.deps.Logger, lines: s.lines,
	}
	h.proxy = &httputil.ReverseProxy{
		Rewrite: h.rewrite, Transport: s.sender, BufferPool: buffers{}, ModifyResponse: h.arrived, ErrorHandler: h.failed,
		ErrorLog: stdlog.New(quiet{}, "", 0),
	}
	return h
}

// Start starts to follow the routes.
func (s *Service) Start(ctx context.Context) error {
	context.AfterFunc(s.deps.Stopping, s.refuseWaiting)
	return s.Run(authz.AsService(ctx, serviceName), s.watcher.run, s.reporter.run)
}

// Stop ends the loops, what waits, and the connections to replicas that are not in use.
func (s *Service) Stop(ctx context.Context) error {
	s.refuseWaiting()
	err := s.Background.Stop(ctx)
	s.attendant.wait()
	s.sender.close()
	return err
}

// refuseWaiting ends all waits for replicas, and lets none begin.
func (s *Service) refuseWaiting() {
	s.line.closed.Store(true)
	s.stop()
	s.routes.each(func(a *app) { a.fail(rpc.ErrShuttingDown) })
}

// Check fails while the gateway cannot learn where apps run.
func (s *Service) Check(context.Context) error {
	since, cause := s.watcher.broken()
	if since.IsZero() || s.deps.Clock.Now().Sub(since) < brokenAfter {
		return nil
	}
	return fmt.Errorf("no routes of apps since %s: %w", since.Format(time.RFC3339), cause)
}

// quiet discards what the proxy logs about connections that end in the middle: it is the business of app and client.
type quiet struct{}

// Write implements io.Writer.
func (quiet) Write(line []byte) (int, error) { return len(line), nil }

// Waiting is how many requests wait for a replica of their app.
func (s *Service) Waiting() int { return int(s.line.waiting.Load()) }
