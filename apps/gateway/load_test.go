package gateway_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/flyte-binary/flyte-binary/apps/gateway"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/obs/metrictest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
)

func TestLoadIsReported(t *testing.T) {
	fake := clock.NewFake(time.Unix(1000, 0))
	entered, leave := make(chan struct{}), make(chan struct{})
	backend := replica(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/held":
			entered <- struct{}{}
			<-leave
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		}
	})
	a := newApps(route("one", backend), route("idle", backend))
	for i := range 1000 {
		a.routes[fmt.Sprint(i)] = changed(route(fmt.Sprint("idle", i), backend), func(r *enginev1.AppRoute) { r.Uid = fmt.Sprint(i) })
	}
	f := start(t, a, options{deps: func(d *gateway.Deps) { d.Clock = fake }})
	var held []<-chan int
	for range 2 {
		status := make(chan int, 1)
		go func() {
			code, _, _ := f.get(t, "/apps/p/d/one/held", nil)
			status <- code
		}()
		<-entered
		held = append(held, status)
	}
	for path, want := range map[string]int{"": 200, "missing": 404, "broken": 500} {
		status, _, _ := f.get(t, "/apps/p/d/one/"+path, nil)
		require.Equal(t, want, status)
	}
	report := func() (all int, of []*enginev1.AppLoad) {
		before, _ := a.reports("")
		require.Eventually(t, func() bool { return fake.Timers() > 0 }, time.Minute, time.Millisecond)
		fake.Step(time.Second)
		require.Eventually(t, func() bool { all, of = a.reports("uid-one"); return all > before }, time.Minute, time.Millisecond)
		return all, of
	}
	_, loads := report()
	require.Len(t, loads, 1)
	first := loads[0]
	require.EqualValues(t, 3, first.GetRequests())
	require.EqualValues(t, 1, first.GetErrors())
	require.EqualValues(t, 2, first.GetOpen())
	require.Positive(t, first.GetWindow().AsDuration())
	require.Greater(t, first.GetConcurrency(), 1.0, "two were held most of the time")
	require.Less(t, first.GetConcurrency(), 5.0)
	require.Len(t, first.GetLatencyBuckets(), 16)
	require.EqualValues(t, 3, sum(first.GetLatencyBuckets()))
	_, idle := a.reports("uid-idle")
	require.Empty(t, idle)

	_, loads = report()
	require.Len(t, loads, 2, "those in flight count")
	require.Zero(t, loads[1].GetRequests())
	require.InDelta(t, 2, loads[1].GetConcurrency(), 0.01)

	close(leave)
	for _, status := range held {
		require.Equal(t, http.StatusOK, <-status)
	}
	all, loads := report()
	require.EqualValues(t, 2, loads[2].GetRequests())
	require.Zero(t, loads[2].GetOpen())
	require.EqualValues(t, 5, first.GetRequests()+loads[2].GetRequests())

	after, loads := report()
	require.Equal(t, all+1, after)
	require.Len(t, loads, 3, "the last report is empty: the load is over")
	for range 3 {
		require.Eventually(t, func() bool { return fake.Timers() > 0 }, time.Minute, time.Millisecond)
		fake.Step(time.Second)
	}
	final, _ := a.reports("")
	require.Equal(t, after, final, "then there is nothing to say")
}

func sum(values []uint64) (total uint64) {
	for _, value := range values {
		total += value
	}
	return total
}

func TestMetricsAreBounded(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	var routes []*enginev1.AppRoute
	backend := replica(t, says("x"))
	for i := range 5 {
		routes = append(routes, route(fmt.Sprint("app", i), backend))
	}
	f := start(t, newApps(routes...), options{
		config: func(c *gateway.Config) { c.MetricApps = 3 }, // one of them is for the mark of the fixture
		deps:   func(d *gateway.Deps) { d.Meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) },
	})
	for i := range 5 {
		for range i + 1 {
			f.get(t, fmt.Sprintf("/apps/p/d/app%d/", i), nil)
		}
	}
	counted := func() map[string]float64 {
		counts := metrictest.Read(t, reader)
		maps.DeleteFunc(counts, func(name string, _ float64) bool {
			return !strings.HasPrefix(name, "flyte.gateway.requests ") || !strings.HasSuffix(name, " result=ok")
		})
		return counts
	}
	want := map[string]float64{
		"flyte.gateway.requests app=p/d/app0 result=ok": 1, "flyte.gateway.requests app=p/d/app1 result=ok": 2,
		"flyte.gateway.requests app=other result=ok": 3 + 4 + 5,
	}
	require.Eventually(t, func() bool { return fmt.Sprint(counted()) == fmt.Sprint(want) }, time.Minute, time.Millisecond)
	f.apps.remove("uid-app0")
	f.settle(t)
	require.NotContains(t, counted(), "flyte.gateway.requests app=p/d/app0 result=ok")
}

// TestTheRoutesSurviveTheAppsService: requests continue while the apps service is down, and changes arrive when it is back.
func TestTheRoutesSurviveTheAppsService(t *testing.T) {
	a := newApps(route("one", replica(t, says("one"))), route("old", replica(t, says("old"))))
	broken := &breakable{apps: a, cut: make(chan struct{})}
	mux := rpc.NewMux()
	mux.Handle(enginev1connect.NewAppRouteServiceHandler(broken))
	f := start(t, a, options{deps: func(d *gateway.Deps) {
		d.Apps = enginev1connect.NewAppRouteServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	}})
	close(broken.cut)
	require.Eventually(t, func() bool { return strings.Contains(f.log.String(), "route stream failed") }, time.Minute, time.Millisecond)
	_, _, body := f.get(t, "/apps/p/d/one/", nil)
	require.Equal(t, "one", body)
	a.mu.Lock()
	delete(a.routes, "uid-old") // no notification was sent
	a.routes["uid-new"] = route("new", replica(t, says("new")))
	a.mu.Unlock()
	broken.repair()
	require.Eventually(t, func() bool {
		_, _, body := f.get(t, "/apps/p/d/new/", nil)
		return body == "new"
	}, time.Minute, time.Millisecond)
	status, _, _ := f.get(t, "/apps/p/d/old/", nil)
	require.Equal(t, http.StatusNotFound, status)
}

// breakable is the double until it is cut, and fails then until it is repaired.
type breakable struct {
	*apps
	cut    chan struct{}
	healed bool // GUARDED_BY(mu)
}

func (b *breakable) repair() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.healed = true
}

// WatchRoutes implements the service.
func (b *breakable) WatchRoutes(
	ctx context.Context, r *enginev1.WatchRoutesRequest, stream *connect.ServerStream[enginev1.WatchRoutesResponse],
) error {
	b.mu.Lock()
	healed := b.healed
	b.mu.Unlock()
	if healed {
		return b.apps.WatchRoutes(ctx, r, stream)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-b.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := b.apps.WatchRoutes(ctx, r, stream); err != nil {
		return err
	}
	return connect.NewError(connect.CodeUnavailable, fmt.Errorf("cut"))
}

func TestBeforeTheRoutesAreKnown(t *testing.T) {
	plain := rpc.NewMux() // without the apps service
	guarded, err := rpc.NewGuardedMux(rpc.Chain{})
	require.NoError(t, err)
	deps := gateway.Deps{Apps: enginev1connect.NewAppRouteServiceClient(rpc.InProcess(plain), rpc.InProcessURL), Door: guarded.Door("/apps/")}
	fake := clock.NewFake(time.Unix(1000, 0))
	deps.Clock = fake
	service, err := gateway.New(gateway.DefaultConfig(), deps)
	require.NoError(t, err)
	require.NoError(t, service.Check(t.Context()))
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.Background())) })
	address := replica(t, service.Handler(everyone{}, http.NotFoundHandler()).ServeHTTP)
	status, body := raw(t, address, "GET /apps/p/d/one/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "still loading the routes")
	require.Eventually(t, func() bool {
		fake.Step(time.Minute)
		return service.Check(t.Context()) != nil
	}, time.Minute, time.Millisecond)
}

// everyone takes all names.
type everyone struct{}

// Allow implements gateway.Hosts.
func (everyone) Allow(string) bool { return true }

// Listed implements gateway.Hosts.
func (everyone) Listed(string) bool { return false }

func TestLifecycle(t *testing.T) {
	mux := rpc.NewMux()
	mux.Handle(enginev1connect.NewAppRouteServiceHandler(newApps(route("one"))))
	guarded, err := rpc.NewGuardedMux(rpc.Chain{})
	require.NoError(t, err)
	door := guarded.Door("/apps/")
	lifecycletest.Stress(t, func() lifecycle.Part {
		service, err := gateway.New(gateway.DefaultConfig(), gateway.Deps{
			Apps: enginev1connect.NewAppRouteServiceClient(rpc.InProcess(mux), rpc.InProcessURL), Door: door,
		})
		require.NoError(t, err)
		return service
	})
}

func TestConfigNamesTheField(t *testing.T) {
	require.NoError(t, gateway.DefaultConfig().Validate())
	for field, spoil := range map[string]func(*gateway.Config){
		"domain":              func(c *gateway.Config) { c.Domain = "http://apps.example.com" },
		"requestTimeout":      func(c *gateway.Config) { c.RequestTimeout = 0 },
		"waitTimeout":         func(c *gateway.Config) { c.WaitTimeout = -1 },
		"maxWaiting":          func(c *gateway.Config) { c.MaxWaiting = 0 },
		"maxWaitingTotal":     func(c *gateway.Config) { c.MaxWaitingTotal = 1 },
		"stallTimeout":        func(c *gateway.Config) { c.StallTimeout = 0 },
		"pages":               func(c *gateway.Config) { c.Pages = "open" },
		"metricApps":          func(c *gateway.Config) { c.MetricApps = -1 },
		"internalNetworks[0]": func(c *gateway.Config) { c.InternalNetworks = []string{"ten"} },
		"trustedProxies[0]":   func(c *gateway.Config) { c.TrustedProxies = []string{"10.0.0.1"} },
	} {
		config := gateway.DefaultConfig()
		spoil(&config)
		require.ErrorContains(t, config.Validate(), field+": ")
	}
}
