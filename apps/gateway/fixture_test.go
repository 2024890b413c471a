package gateway_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/gateway"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/slowbody"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apps is a double of the apps service.
type apps struct {
	mu      sync.Mutex
	routes  map[string]*enginev1.AppRoute   // GUARDED_BY(mu)
	changed chan struct{}                   // GUARDED_BY(mu): closed by every change
	log     []*enginev1.WatchRoutesResponse // GUARDED_BY(mu): all changes
	woken   map[string]int                  // GUARDED_BY(mu)
	loads   []*enginev1.ReportLoadRequest   // GUARDED_BY(mu)
	onWake  func(uid string) error          // set before the start
}

func newApps(routes ...*enginev1.AppRoute) *apps {
	a := &apps{routes: map[string]*enginev1.AppRoute{}, changed: make(chan struct{}), woken: map[string]int{}}
	for _, route := range routes {
		a.routes[route.GetUid()] = route
	}
	return a
}

// set changes a route.
func (a *apps) set(route *enginev1.AppRoute) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.routes[route.GetUid()] = route
	a.tell(&enginev1.WatchRoutesResponse{Message: &enginev1.WatchRoutesResponse_Route{Route: route}})
}

func (a *apps) remove(uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.routes, uid)
	a.tell(&enginev1.WatchRoutesResponse{Message: &enginev1.WatchRoutesResponse_Removed{Removed: &enginev1.RemovedApp{Uid: uid}}})
}

func (a *apps) tell(change *enginev1.WatchRoutesResponse) {
	a.log = append(a.log, change)
	close(a.changed)
	a.changed = make(chan struct{})
}

// WatchRoutes implements the service.
func (a *apps) WatchRoutes(
	ctx context.Context, _ *enginev1.WatchRoutesRequest, stream *connect.ServerStream[enginev1.WatchRoutesResponse],
) error {
	a.mu.Lock()
	at := len(a.log)
	for _, route := range a.routes {
		if err := stream.Send(&enginev1.WatchRoutesResponse{Message: &enginev1.WatchRoutesResponse_Route{Route: route}}); err != nil {
			a.mu.Unlock()
			return err
		}
	}
	a.mu.Unlock()
	err := stream.Send(&enginev1.WatchRoutesResponse{Message: &enginev1.WatchRoutesResponse_Sentinel{Sentinel: &enginev1.AppsSentinel{}}})
	for err == nil {
		a.mu.Lock()
		news, changed := a.log[at:], a.changed
		at = len(a.log)
		a.mu.Unlock()
		for _, change := range news {
			if err := stream.Send(change); err != nil {
				return err
			}
		}
		if len(news) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
	return err
}

// WakeApp implements the service.
func (a *apps) WakeApp(_ context.Context, r *enginev1.WakeAppRequest) (*enginev1.WakeAppResponse, error) {
	a.mu.Lock()
	a.woken[r.GetUid()]++
	a.mu.Unlock()
	if a.onWake == nil {
		return &enginev1.WakeAppResponse{}, nil
	}
	if err := a.onWake(r.GetUid()); err != nil {
		return nil, connect.NewError(rpc.KindOf(err).Code(), err) // as the chain does it
	}
	return &enginev1.WakeAppResponse{}, nil
}

// ReportLoad implements the service.
func (a *apps) ReportLoad(_ context.Context, r *enginev1.ReportLoadRequest) (*enginev1.ReportLoadResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loads = append(a.loads, r)
	return &enginev1.ReportLoadResponse{}, nil
}

func (a *apps) wakes(uid string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.woken[uid]
}

// reports calls f with the loads of an app so far, and the number of reports.
func (a *apps) reports(uid string) (all int, of []*enginev1.AppLoad) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, report := range a.loads {
		for _, one := range report.GetApps() {
			if one.GetUid() == uid {
				of = append(of, one)
			}
		}
	}
	return len(a.loads), of
}

// route is an app of the project p and the domain d that anybody may call.
func route(name string, targets ...string) *enginev1.AppRoute {
	r := &enginev1.AppRoute{
		Uid: "uid-" + name, Id: &app.Identifier{Project: "p", Domain: "d", Name: name}, Subdomain: name + "-0a1b2c3d",
		AllowAnonymous: true, Revision: 1,
	}
	for _, address := range targets {
		r.Targets = append(r.Targets, &enginev1.RouteTarget{Replica: "replica-" + address, Address: address, Ready: true})
	}
	return r
}

func changed(r *enginev1.AppRoute, change func(*enginev1.AppRoute)) *enginev1.AppRoute {
	r, _ = proto.Clone(r).(*enginev1.AppRoute)
	change(r)
	return r
}

// bearer is an authenticator: the token is the name, and only ada and the task t are known.
type bearer struct{}

// Authenticate implements authz.Authenticator.
func (bearer) Authenticate(_ context.Context, request authz.Request) (authz.Identity, error) {
	switch name := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "); name {
	case "":
		return authz.Identity{}, nil
	case "ada":
		return authz.Identity{Kind: authz.User, Subject: "ada", Name: "Ada Lövelace", Email: "ada@example.com"}, nil
	case "t":
		return authz.Identity{Kind: authz.Task, Subject: "t"}, nil
	default:
		return authz.Identity{}, rpc.Unauthenticated("%q is unknown", name)
	}
}

// fixture is a gateway in front of an API, as manager puts it together.
type fixture struct {
	apps    *apps
	service *gateway.Service
	url     string // http://127.0.0.1:port
	host    string
	// stop begins the end of the process.
	stop context.CancelFunc
	log  *buffer
}

type options struct {
	config func(*gateway.Config)
	signin bool
	grace  time.Duration
	guard  func(http.Handler) http.Handler // instead of slowbody.Guard
	deps   func(*gateway.Deps)
}

// start starts a gateway and waits until it knows the routes.
func start(t testing.TB, a *apps, with options) *fixture {
	t.Helper()
	config := gateway.DefaultConfig()
	config.Domain, config.WaitTimeout = "localhost", 30*time.Second
	if with.config != nil {
		with.config(&config)
	}
	chain := rpc.Chain{InternalToken: "internal"}
	if with.signin {
		chain.Authenticator = bearer{}
	}
	guarded, err := rpc.NewGuardedMux(chain)
	require.NoError(t, err)
	plain := rpc.NewMux()
	plain.Handle(enginev1connect.NewAppRouteServiceHandler(a))
	stopping, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	log := &buffer{}
	deps := gateway.Deps{
		Apps: enginev1connect.NewAppRouteServiceClient(rpc.InProcess(plain), rpc.InProcessURL), Door: guarded.Door("/apps/"),
		Open: !with.signin, Stopping: stopping, Logger: zerolog.New(log),
	}
	if with.deps != nil {
		with.deps(&deps)
	}
	service, err := gateway.New(config, deps)
	require.NoError(t, err)
	require.NoError(t, service.Start(context.Background()))
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the API") })
	hosts := browserguard.NewHosts("flyte.example.com")
	handler := service.Handler(hosts, browserguard.Guard(hosts, func(*http.Request) bool { return false }, api))
	if with.grace == 0 {
		with.grace = 30 * time.Second
	}
	if with.guard == nil {
		with.guard = func(next http.Handler) http.Handler { return slowbody.Guard(with.grace, next) }
	}
	server := httptest.NewUnstartedServer(with.guard(handler))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(func() {
		stop()
		server.CloseClientConnections()
		server.Close()
		require.NoError(t, service.Stop(context.Background()))
	})
	f := &fixture{apps: a, service: service, url: server.URL, host: strings.TrimPrefix(server.URL, "http://"), stop: stop, log: log}
	f.settle(t)
	return f
}

// settle waits until the gateway has seen all changes so far.
func (f *fixture) settle(t testing.TB) {
	t.Helper()
	mark := route("mark", "127.0.0.1:1")
	mark.Targets, mark.Reason = nil, time.Now().String()
	f.apps.set(mark)
	require.Eventually(t, func() bool {
		_, _, body := f.get(t, "/apps/p/d/mark/", nil)
		return strings.Contains(body, mark.GetReason())
	}, 30*time.Second, time.Millisecond)
}

// get sends a GET and returns status, header and body. A header named Host sets the host.
func (f *fixture) get(t testing.TB, path string, header map[string]string) (int, http.Header, string) {
	t.Helper()
	return f.do(t, http.MethodGet, path, nil, header)
}

func (f *fixture) do(t testing.TB, method, path string, body io.Reader, header map[string]string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequest(method, f.url+path, body)
	require.NoError(t, err)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.Host = header["Host"]
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: transport(t, false),
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

// transport is one for HTTP/1 or HTTP/2 whose connections end with the test.
func transport(t testing.TB, http2 bool) *http.Transport {
	t.Helper()
	made := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true, MaxIdleConnsPerHost: 200}
	made.Protocols.SetHTTP1(!http2)
	made.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(made.CloseIdleConnections)
	return made
}

// replica starts a server that speaks HTTP/1 and HTTP/2 and returns its address.
func replica(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// says answers every request with the same text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// unused is an address on which nothing listens.
func unused(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what was written.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
