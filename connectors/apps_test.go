package connectors_test

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/connectors"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// gates is a fake gateway. It has the routes of apps, sends each call to the app's fake, and checks the caller.
type gates struct {
	t      testing.TB
	client *http.Client

	mu      sync.Mutex
	unknown bool
	routes  []*enginev1.AppRoute
	fakes   map[string]*fake
	woken   map[string]int // how many requests came for an app without replicas
	away    map[string]bool
}

func newGates(t testing.TB) *gates {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &gates{t: t, client: &http.Client{Transport: transport}, fakes: map[string]*fake{}, woken: map[string]int{}, away: map[string]bool{}}
}

// serve makes a fake an app of the project flytesnacks.
func (g *gates) serve(name string, f *fake) *enginev1.AppRoute {
	g.mu.Lock()
	defer g.mu.Unlock()
	route := &enginev1.AppRoute{
		Uid: name, Id: &app.Identifier{Project: "flytesnacks", Domain: "development", Name: name}, Connector: true, H2C: true, Revision: 1, Wakes: true,
		Targets: []*enginev1.RouteTarget{{Replica: name + "-0", Address: f.addr, Ready: true}},
	}
	g.routes, g.fakes["/apps/flytesnacks/development/"+name] = append(g.routes, route), f
	return route
}

// with changes the gates. Routes are replaced, not changed: others have them.
func (g *gates) with(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// becomes replaces the only route.
func (g *gates) becomes(change func(*enginev1.AppRoute)) {
	g.with(func() {
		next := &enginev1.AppRoute{
			Uid: g.routes[0].GetUid(), Id: g.routes[0].GetId(), Connector: true, H2C: true, Revision: g.routes[0].GetRevision(), Wakes: g.routes[0].GetWakes(),
			Targets: g.routes[0].GetTargets(),
		}
		change(next)
		g.routes = []*enginev1.AppRoute{next}
	})
}

// Connectors implements connectors.Apps.
func (g *gates) Connectors() ([]*enginev1.AppRoute, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.routes, !g.unknown
}

// Do implements connectors.Apps.
func (g *gates) Do(r *http.Request) (*http.Response, error) {
	if known, _ := authz.IdentityIn(r.Context()); known.Kind != authz.Service {
		g.t.Errorf("a request to an app comes from %v", known)
	}
	g.mu.Lock()
	var at string
	for prefix := range g.fakes {
		if strings.HasPrefix(r.URL.Path, prefix+"/") {
			at = prefix
		}
	}
	fake, away := g.fakes[at], g.away[at]
	for _, route := range g.routes {
		if at == "/apps/flytesnacks/development/"+route.GetId().GetName() && len(route.GetTargets()) == 0 {
			g.woken[route.GetId().GetName()]++
		}
	}
	g.mu.Unlock()
	if fake == nil || away {
		return nil, connect.NewError(connect.CodeUnavailable, &net.OpError{Op: "dial", Err: net.ErrClosed})
	}
	to := r.Clone(r.Context())
	to.URL.Host, to.Host, to.URL.Path = fake.addr, fake.addr, strings.TrimPrefix(r.URL.Path, at)
	return g.client.Do(to)
}

// TestAnAppIsAConnector: it gets the tasks of its own project and domain, and those of others only if it is configured to.
func TestAnAppIsAConnector(t *testing.T) {
	own, shared := newFake(t, "batch_job"), newFake(t, "batch_job", "other_job")
	own.begins(success())
	g := newGates(t)
	g.serve("tools", own)
	g.serve("all", shared)
	f := newFixtureOf(t, g, func(c *connectors.Config) { c.SharedApps = []string{"flytesnacks/development/all"} })
	f.serves("batch_job")
	f.serves("other_job")
	f.run("r", job())
	f.reaches("r", succeeded)
	own.has(1)

	find := func(taskType, project, domain string) *enginev1.FindConnectorResponse {
		answer, err := f.client.FindConnector(t.Context(), &enginev1.FindConnectorRequest{TaskType: taskType, Project: project, Domain: domain})
		require.NoError(t, err)
		return answer
	}
	require.Equal(t, "apps/flytesnacks/development/tools", find("batch_job", "flytesnacks", "development").GetConnector(), "its own app comes first")
	require.Equal(t, "apps/flytesnacks/development/all", find("batch_job", "flytesnacks", "production").GetConnector())
	require.Equal(t, "apps/flytesnacks/development/all", find("batch_job", "another", "development").GetConnector())
	own.with(func() { own.types = []*connectorv2.TaskCategory{{Name: "private_job"}} })
	g.with(func() { // a new revision
		g.routes[0] = &enginev1.AppRoute{
			Uid: "tools", Id: g.routes[0].GetId(), Connector: true, Revision: 2, Wakes: true, Targets: g.routes[0].GetTargets(),
		}
	})
	f.serves("private_job")
	elsewhere := find("private_job", "another", "development")
	require.Empty(t, elsewhere.GetConnector())
	require.Equal(t, []string{"batch_job", "other_job"}, elsewhere.GetTaskTypes(), "what apps of other projects serve is not told")
	err := f.create("q", job(func(t *core.TaskTemplate) { t.Type = "private_job" }), func(r *workflow.CreateRunRequest) {
		r.GetRunId().Domain = "production"
	})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "private_job")

	listed, err := f.connectors.ListConnectors(t.Context(), &insightv1.ListConnectorsRequest{})
	require.NoError(t, err)
	require.Len(t, listed.GetConnectors(), 2)
	require.Equal(t, "flytesnacks/development/tools", listed.GetConnectors()[0].GetApp())
	require.Equal(t, "flytesnacks development", listed.GetConnectors()[0].GetProject()+" "+listed.GetConnectors()[0].GetDomain())
	require.Empty(t, listed.GetConnectors()[1].GetProject())
}

// TestAConfiguredConnectorComesBeforeApps: an app must not take over the tasks of a connector of the configuration.
func TestAConfiguredConnectorComesBeforeApps(t *testing.T) {
	configured, deployed := newFake(t, "batch_job"), newFake(t, "batch_job", "app_job")
	configured.begins(success())
	g := newGates(t)
	g.serve("tools", deployed)
	f := newFixtureOf(t, g, func(c *connectors.Config) { c.Endpoints = []connectors.Endpoint{configured.endpoint("batch")} })
	f.serves("app_job")
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", succeeded)
	configured.has(1)
	deployed.has(0)
}

// TestASleepingApp: what it serves is known while it sleeps, no question wakes it, and a task does.
func TestASleepingApp(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(success())
	g := newGates(t)
	g.serve("tools", fake)
	f := newFixtureOf(t, g, func(*connectors.Config) {})
	f.serves("batch_job")
	g.becomes(func(r *enginev1.AppRoute) { r.Targets = nil })
	f.stop()
	f.stop = f.replica() // also a process that starts
	f.eventually("it is known to sleep", func() bool {
		listed, err := f.connectors.ListConnectors(t.Context(), &insightv1.ListConnectorsRequest{})
		return err == nil && len(listed.GetConnectors()) == 1 && listed.GetConnectors()[0].GetAsleep() && listed.GetConnectors()[0].GetProblem() == ""
	})
	f.discovers(3)
	g.with(func() { require.Zero(t, g.woken["tools"], "no one has a task for it") })
	f.run("r", job())
	f.reaches("r", succeeded)
	g.with(func() { require.NotZero(t, g.woken["tools"]) })
}

// TestAnAppThatIsAway: a stopped app, one that does not answer and one whose replicas are not known cost time, not attempts.
func TestAnAppThatIsAway(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	g := newGates(t)
	g.serve("tools", fake)
	steady := newFake(t, "steady_job")
	f := newFixtureOf(t, g, func(c *connectors.Config) { c.Endpoints = []connectors.Endpoint{steady.endpoint("steady")} })
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	g.with(func() { g.away["/apps/flytesnacks/development/tools"] = true })
	g.becomes(func(r *enginev1.AppRoute) { r.Targets, r.Wakes = nil, false })
	f.eventually("its state is known", func() bool {
		listed, err := f.connectors.ListConnectors(t.Context(), &insightv1.ListConnectorsRequest{})
		return err == nil && len(listed.GetConnectors()) == 2 && listed.GetConnectors()[1].GetProblem() != "" && listed.GetConnectors()[1].GetLastError() != ""
	})
	f.serves("batch_job")
	g.with(func() { g.unknown = true })
	f.discovers(2)
	f.serves("batch_job")
	fake.becomes(success())
	g.with(func() { g.unknown, g.away = false, map[string]bool{} })
	details := f.reaches("r", succeeded)
	require.Len(t, details.GetAttempts(), 1)
	fake.has(1)
	g.with(func() { g.routes = nil })
	f.eventually("a deleted app is no connector", func() bool {
		answer, err := f.client.FindConnector(t.Context(), &enginev1.FindConnectorRequest{TaskType: "batch_job", Project: "flytesnacks", Domain: "development"})
		return err == nil && answer.GetConnector() == ""
	})
}

// discovers waits until the connectors were compared some more times.
func (f *fixture) discovers(times int) {
	f.t.Helper()
	for range times {
		var before, now any
		require.NoError(f.t, f.db.QueryRow(f.t.Context(), `SELECT xmin::text FROM connectors ORDER BY rank LIMIT 1`).Scan(&before))
		f.eventually("another pass", func() bool {
			return f.db.QueryRow(f.t.Context(), `SELECT xmin::text FROM connectors ORDER BY rank LIMIT 1`).Scan(&now) == nil && now != before
		})
	}
}
