package apps_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/apps"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

func TestReportsOfOtherTimes(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	old := &enginev1.ObservedApp{Uid: d.of("web").GetUid(), Applied: d.of("web").GetVersion(), Revisions: []*enginev1.ObservedRevision{replicas(1, 1, true)}}
	require.Empty(t, d.send(old))
	d.eventually("web", "1:1 →1")
	before := f.get("web")
	f.clock.Step(time.Minute)
	require.Empty(t, d.send(old, old))
	require.Equal(t, before.GetStatus().GetLastUpdatedAt().AsTime(), f.get("web").GetStatus().GetLastUpdatedAt().AsTime(), "the same report changes nothing")

	stopped := f.get("web")
	stopped.Spec.DesiredState = app.Spec_DESIRED_STATE_STOPPED
	f.update(stopped)
	d.eventually("web", "→0")
	d.report("web")
	require.Equal(t, "STOPPED", f.status("web"))
	require.Empty(t, d.send(old), "it comes late")
	require.Equal(t, "STOPPED", f.status("web"))
	require.Zero(t, f.get("web").GetStatus().GetCurrentReplicas())

	_, err := f.api.Delete(t.Context(), &app.DeleteRequest{AppId: id("web")})
	require.NoError(t, err)
	_, err = f.api.Delete(t.Context(), &app.DeleteRequest{AppId: id("web")})
	require.NoError(t, err, "it can be repeated")
	f.create(command("web"))
	require.Equal(t, []string{old.GetUid()}, d.send(old), "the name is the same, the app is not")
	require.Equal(t, "PENDING", f.status("web"))
	d.eventually("web", "1:1 →0")
	require.Equal(t, []string{old.GetUid()}, d.gone())

	elsewhere := &deployer{f: f, cluster: "other"}
	require.Equal(t, []string{d.of("web").GetUid()}, elsewhere.send(&enginev1.ObservedApp{Uid: d.of("web").GetUid()}), "an app of another cluster")
}

func TestADeployerThatIsSilent(t *testing.T) {
	f := newFixture(t, nil)
	f.create(command("web"))
	require.Contains(t, f.message("web"), "no deployer of cluster default has ever been seen")
	d := f.deployer("", false)
	require.Eventually(t, func() bool { // its apps are looked at again in the background, too
		f.pass(0)
		return f.message("web") == "revision 1 waits for the cluster to take it up"
	}, wait, time.Millisecond)
	d.report("web", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
	d.stop()
	f.pass(2 * time.Minute)
	require.Eventually(t, func() bool { return f.message("web") != "" }, wait, time.Millisecond)
	require.Contains(t, f.message("web"), "the deployer of cluster default has been silent since 2026-06-01T12:00")
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"), "what runs goes on to run")
	explained, err := f.insight.ExplainApp(t.Context(), &insightv1.ExplainAppRequest{AppId: id("web")})
	require.NoError(t, err)
	require.Contains(t, explained.GetAdvice(), "runs for cluster default")
	d = f.deployer("", false)
	require.Eventually(t, func() bool { f.pass(0); return f.message("web") == "" }, wait, time.Millisecond)
	require.Equal(t, "1:1 →1", d.wants("web"), "the first thing that it learns")
}

func TestAnAppMovesToAnotherCluster(t *testing.T) {
	f := newFixture(t, nil)
	here, there := f.deployer("", false), f.deployer("there", false)
	f.create(command("web"))
	here.eventually("web", "1:1 →0")
	here.report("web", replicas(1, 1, true))
	moved := command("web")
	moved.Spec.Cluster, moved.Spec.ClusterPool = "there", ""
	f.update(moved)
	here.eventually("web", "nothing")
	there.eventually("web", "2:1 →0")
	there.report("web", replicas(2, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
}

func TestAForeignOperator(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	leased, err := f.api.Lease(ctx, &app.LeaseRequest{Id: &common.ClusterIdentifier{Name: "default"}})
	require.NoError(t, err)
	defer leased.Close() //nolint:errcheck // nothing is written
	require.True(t, leased.Receive())
	require.Equal(t, "web", leased.Msg().GetApps()[0].GetMetadata().GetId().GetName())
	reported := f.get("web")
	reported.Status.Conditions = []*app.Condition{{DeploymentStatus: app.Status_DEPLOYMENT_STATUS_ACTIVE, Message: "it runs", Revision: 1}}
	_, err = f.api.UpdateStatus(t.Context(), &app.UpdateStatusRequest{App: reported})
	require.NoError(t, err)
	require.Equal(t, "ACTIVE", f.status("web"))
	d.eventually("web", "nothing")
	f.pass(5 * time.Minute)
	require.Equal(t, "it runs", f.message("web"), "the operator's status stays")
	f.update(command("web", "A", "1"))
	require.Equal(t, "PENDING", f.status("web"))
	for leased.Receive() {
		if apps := leased.Msg().GetApps(); len(apps) > 0 && apps[0].GetMetadata().GetRevision() == 2 {
			return
		}
	}
	require.Fail(t, "the operator is not told of the new revision")
}

// TestReplicasOfTheServer runs the deployer on one replica and changes the app on another.
func TestReplicasOfTheServer(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	_, other := f.replica()
	f.connect(other)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	d.eventually("web", "1:1 →1")
}

// gateway is a double of a gateway: it keeps the routes.
type gateway struct {
	f      *fixture
	routes chan *enginev1.AppRoute
}

func (f *fixture) gateway() *gateway {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	stream, err := f.routes.WatchRoutes(ctx, &enginev1.WatchRoutesRequest{Gateway: "g"})
	require.NoError(f.t, err)
	g := &gateway{f: f, routes: make(chan *enginev1.AppRoute, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer stream.Close() //nolint:errcheck // nothing is written
		for stream.Receive() {
			if route := stream.Msg().GetRoute(); route != nil {
				g.routes <- route
			}
		}
	}()
	f.t.Cleanup(func() { cancel(); <-done })
	return g
}

// next waits for a route that is as wanted.
func (g *gateway) next(fits func(*enginev1.AppRoute) bool) *enginev1.AppRoute {
	g.f.t.Helper()
	timeout := time.After(wait)
	for {
		select {
		case route := <-g.routes:
			if fits(route) {
				return route
			}
		case <-timeout:
			require.Fail(g.f.t, "no such route came")
		}
	}
}

// TestAStartForgetsReplicasOfThisMachine: the machine may have stopped with the server, and another program may have the port by now.
// On a cluster, replicas continue without the server, and requests reach them at once.
func TestAStartForgetsReplicasOfThisMachine(t *testing.T) {
	f := newFixture(t, nil)
	here, elsewhere := f.deployer("", true), f.deployer("elsewhere", false)
	for name, d := range map[string]*deployer{"near": here, "far": elsewhere} {
		a := command(name)
		if d == elsewhere {
			a.Spec.Cluster, a.Spec.ClusterPool = "elsewhere", ""
		}
		f.create(a)
		d.eventually(name, "1:1 →0")
		d.report(name, replicas(1, 1, true))
		d.eventually(name, "1:1 →1")
	}
	require.NoError(t, f.service.Stop(t.Context()))
	_, mux := f.replica()
	f.connect(mux)
	g := f.gateway()
	targets := map[string]int{}
	for range 2 {
		route := g.next(func(*enginev1.AppRoute) bool { return true })
		targets[route.GetId().GetName()] = len(route.GetTargets())
	}
	require.Equal(t, map[string]int{"near": 0, "far": 1}, targets)

	here.report("near", replicas(1, 1, true)) // the same as before
	route := g.next(func(r *enginev1.AppRoute) bool { return len(r.GetTargets()) > 0 })
	require.Equal(t, "near", route.GetId().GetName())
}

func TestAnAppSleepsAndWakes(t *testing.T) {
	f := newFixture(t, func(c *apps.Config) {
		c.ScaledownPeriod, c.SilentAfter = time.Minute, 24*time.Hour // the clock jumps ahead of heartbeats
	})
	g, d := f.gateway(), f.deployer("", false)
	web := command("web")
	web.Spec.GetContainer().GetPorts()[0].Name = "h2c"
	web.Spec.Timeouts = &app.TimeoutConfig{RequestTimeout: durationpb.New(time.Minute)}
	f.create(web)
	route := g.next(func(r *enginev1.AppRoute) bool { return true })
	require.True(t, route.GetWakes(), "requests may wait for its start")
	require.True(t, route.GetH2C())
	require.Equal(t, time.Minute, route.GetRequestTimeout().AsDuration())
	require.Equal(t, "web-9414320e", route.GetSubdomain())
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	route = g.next(func(r *enginev1.AppRoute) bool { return len(r.GetTargets()) == 1 })
	require.Equal(t, "10.0.1.0:8080", route.GetTargets()[0].GetAddress())
	require.True(t, route.GetTargets()[0].GetReady())
	uid := route.GetUid()

	f.pass(20 * time.Second)
	for range 4 { // requests keep it awake
		_, err := f.routes.ReportLoad(t.Context(), &enginev1.ReportLoadRequest{Gateway: "g", Apps: []*enginev1.AppLoad{
			{Uid: uid, Window: durationpb.New(time.Second), Requests: 10, Errors: 1, Concurrency: .5, LatencyBuckets: []uint64{0, 9, 1}},
			{Uid: "unknown", Window: durationpb.New(time.Second)},
		}})
		require.NoError(t, err)
		f.pass(20 * time.Second)
		d.eventually("web", "1:1 →1")
	}
	explained, err := f.insight.ExplainApp(t.Context(), &insightv1.ExplainAppRequest{AppId: id("web")})
	require.NoError(t, err)
	require.Len(t, explained.GetTraffic(), 60)
	var requests, errors uint64
	for _, p := range explained.GetTraffic() {
		requests, errors = requests+p.GetRequests(), errors+p.GetErrors()
		if p.GetRequests() > 0 {
			require.Greater(t, p.GetP50().AsDuration(), time.Millisecond)
			require.LessOrEqual(t, p.GetP50().AsDuration(), 2*time.Millisecond)
			require.Greater(t, p.GetP99().AsDuration(), 2*time.Millisecond)
			require.EqualValues(t, 1, p.GetReplicas())
		}
	}
	require.EqualValues(t, 40, requests)
	require.EqualValues(t, 4, errors)
	require.Equal(t, "Revision 1 serves.", explained.GetSummary())
	require.Equal(t, "http://web-9414320e.localhost:8090", explained.GetHostUrl())
	require.Len(t, explained.GetReplicas(), 1)

	f.pass(90 * time.Second)
	d.eventually("web", "1:0 →1")
	require.Equal(t, "ACTIVE/SCALED_TO_ZERO", f.status("web"))
	d.report("web", replicas(1, 0, true))
	route = g.next(func(r *enginev1.AppRoute) bool { return len(r.GetTargets()) == 0 })
	require.True(t, route.GetWakes())

	for range 3 {
		_, err = f.routes.WakeApp(t.Context(), &enginev1.WakeAppRequest{Uid: uid})
		require.NoError(t, err)
	}
	d.eventually("web", "1:1 →1")
	require.Equal(t, "ACTIVE/SCALING_FROM_ZERO", f.status("web"))
	d.report("web", replicas(1, 1, false))
	route = g.next(func(r *enginev1.AppRoute) bool { return len(r.GetTargets()) == 1 })
	require.False(t, route.GetTargets()[0].GetReady(), "a connect that succeeds is enough")
	d.report("web", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))

	f.clock.Step(-time.Hour) // the clock is set back
	f.pass(0)
	require.Equal(t, "1:1 →1", d.wants("web"))
	f.pass(2 * time.Minute)
	d.eventually("web", "1:0 →1")

	stopped := f.get("web")
	stopped.Spec.DesiredState = app.Spec_DESIRED_STATE_STOPPED
	f.update(stopped)
	route = g.next(func(r *enginev1.AppRoute) bool { return !r.GetWakes() })
	require.Equal(t, "app web is stopped", route.GetReason())
	_, err = f.routes.WakeApp(t.Context(), &enginev1.WakeAppRequest{Uid: "unknown"})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

func TestLoadsThatNoGatewayHas(t *testing.T) {
	f := newFixture(t, nil)
	for field, load := range map[string]*enginev1.AppLoad{
		"apps[0].window":          {Uid: "x"},
		"apps[0].concurrency":     {Uid: "x", Window: durationpb.New(time.Second), Concurrency: -1},
		"apps[0].requests":        {Uid: "x", Window: durationpb.New(time.Second), Requests: 1, Errors: 2},
		"apps[0].latency_buckets": {Uid: "x", Window: durationpb.New(time.Second), LatencyBuckets: make([]uint64, 33)},
	} {
		_, err := f.routes.ReportLoad(t.Context(), &enginev1.ReportLoadRequest{Gateway: "g", Apps: []*enginev1.AppLoad{load}})
		refused(t, err, connect.CodeInvalidArgument, field)
	}
}
