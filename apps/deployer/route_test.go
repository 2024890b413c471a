package deployer_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/flyte-binary/flyte-binary/apps/deployer"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

var httpRoutes = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// routes are the HTTPRoutes of a test's namespace.
type routes struct {
	dynamic.ResourceInterface

	f *fixture
}

// gatewayAPI makes the API server know HTTPRoutes until the test ends.
func (f *fixture) gatewayAPI() routes {
	f.t.Helper()
	return routes{ResourceInterface: kubetest.Define(f.t, f.Cluster, httpRoutes, "httproutes"), f: f}
}

// all are the routes that there are.
func (r routes) all() []unstructured.Unstructured {
	r.f.t.Helper()
	found, err := r.List(context.Background(), metav1.ListOptions{})
	require.NoError(r.f.t, err)
	return found.Items
}

// one waits for the one route with these hosts.
func (r routes) one(hosts ...string) *unstructured.Unstructured {
	r.f.t.Helper()
	var last []unstructured.Unstructured
	require.Eventually(r.f.t, func() bool {
		if last = r.all(); len(last) != 1 {
			return false
		}
		names, _, err := unstructured.NestedStringSlice(last[0].Object, "spec", "hostnames")
		return err == nil && slices.Equal(names, hosts)
	}, waitLimit, look, "want %v, have %v", hosts, last)
	return &last[0]
}

func (r routes) none() {
	r.f.t.Helper()
	require.Eventually(r.f.t, func() bool { return len(r.all()) == 0 }, waitLimit, look)
}

func gatewayRoute() deployer.Route {
	return deployer.Route{
		Kind: deployer.RouteGateway, Domain: "apps.example.com", Gateway: "infra/main", Annotations: map[string]string{"example.com/team": "data"},
	}
}

// at is a revision with addresses of its own.
func at(number uint64, subdomain, cname string) *enginev1.DesiredRevision {
	return revision(number, 1, func(spec *app.Spec) { spec.Ingress = &app.IngressConfig{Subdomain: subdomain, Cname: cname} })
}

func TestAnHTTPRouteLeadsToTheService(t *testing.T) {
	f := newFixture(t)
	found := f.gatewayAPI()
	f.config.Route = gatewayRoute()
	f.fleet.want(hello("uid-r1", revision(1, 1)), false)
	f.start()
	made := found.one("hello-683d0b87.apps.example.com")
	name := "app-hello-" + nameHash("uid-r1")
	require.Equal(t, name, made.GetName())
	require.Equal(t, map[string]any{
		"parentRefs": []any{map[string]any{"namespace": "infra", "name": "main"}},
		"hostnames":  []any{"hello-683d0b87.apps.example.com"},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": name, "port": int64(80)}}}},
	}, made.Object["spec"])
	require.Equal(t, map[string]string{
		"flyte.org/managed": "true", "flyte.org/installation": f.Namespace, "flyte.org/project": "p", "flyte.org/domain": "d",
		"flyte.org/app": "hello", "flyte.org/app-uid": "uid-r1",
	}, made.GetLabels())
	require.Equal(t, map[string]string{"example.com/team": "data", "flyte.org/app-id": "p/d/hello"}, made.GetAnnotations())
	service, err := f.Clientset.CoreV1().Services(f.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 80, service.Spec.Ports[0].Port)
	require.Nil(t, f.awaitReport("uid-r1", 1, "is reported", func(r *enginev1.ObservedRevision) bool { return r.GetWanted() == 1 }).GetProblem())

	// The hosts are those of the revision that serves.
	trial := hello("uid-r1", revision(1, 1), at(2, "nice", "www.example.com"))
	f.fleet.want(trial, true)
	f.awaitDeployments("1×1 2×1")
	found.one("hello-683d0b87.apps.example.com")
	f.fleet.want(hello("uid-r1", at(2, "nice", "www.example.com")), true)
	changed := found.one("nice.apps.example.com", "www.example.com")
	require.Equal(t, made.GetUID(), changed.GetUID(), "it is changed, not replaced")
	require.Equal(t, made.GetLabels(), changed.GetLabels())

	f.fleet.drop("uid-r1", true)
	found.none()
	f.awaitDeployments("")
}

// A stopped app has no route. It has one again when it is started.
func TestARouteComesBackWithItsApp(t *testing.T) {
	f := newFixture(t)
	found := f.gatewayAPI()
	f.config.Route = gatewayRoute()
	f.fleet.want(hello("uid-r2", at(1, "nice", "")), false)
	f.start()
	found.one("nice.apps.example.com")
	f.fleet.want(hello("uid-r2"), true)
	found.none()
	f.fleet.want(hello("uid-r2", at(1, "nice", "")), true)
	found.one("nice.apps.example.com")
}

// Someone's changes of a route last until the route changes or the deployer starts.
func TestARouteThatSomebodyDeletesComesBack(t *testing.T) {
	f := newFixture(t)
	found := f.gatewayAPI()
	f.config.Route = gatewayRoute()
	f.fleet.want(hello("uid-r3", at(1, "nice", "")), false)
	stop := f.start()
	first := found.one("nice.apps.example.com")
	require.NoError(t, found.Delete(t.Context(), first.GetName(), metav1.DeleteOptions{}))
	f.fleet.want(hello("uid-r3", at(2, "nicer", "")), true)
	second := found.one("nicer.apps.example.com")
	stop()
	require.NoError(t, found.Delete(t.Context(), second.GetName(), metav1.DeleteOptions{}))
	stop = f.start()
	third := found.one("nicer.apps.example.com")
	stop()
	require.NoError(t, unstructured.SetNestedStringSlice(third.Object, []string{"wrong.example.com"}, "spec", "hostnames"))
	_, err := found.Update(t.Context(), third, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.start()
	found.one("nicer.apps.example.com")
}

func TestAForeignHTTPRouteIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	found := f.gatewayAPI()
	f.config.Route = gatewayRoute()
	foreign := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": "app-hello-" + nameHash("uid-r4")},
		"spec": map[string]any{"hostnames": []any{"theirs.example.com"}},
	}}
	_, err := found.Create(t.Context(), foreign, metav1.CreateOptions{})
	require.NoError(t, err)
	f.fleet.want(hello("uid-r4", revision(1, 1)), false)
	f.start()
	seen := f.awaitReport("uid-r4", 1, "says so", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() != nil })
	require.Contains(t, seen.GetProblem().GetMessage(), "is not managed by flyte-binary")
	require.False(t, seen.GetProblem().GetPermanent(), "the app runs nevertheless")
	f.awaitDeployments("1×1")
	f.fleet.drop("uid-r4", true)
	f.awaitDeployments("")
	require.Eventually(t, func() bool {
		services, err := f.Clientset.CoreV1().Services(f.Namespace).List(context.Background(), metav1.ListOptions{})
		require.NoError(t, err)
		return len(services.Items) == 0
	}, waitLimit, look)
	found.one("theirs.example.com")
}

// The Gateway API may be installed while apps run.
func TestAnAppGetsItsRouteOnceTheGatewayAPIIsThere(t *testing.T) {
	f := newFixture(t)
	f.config.Route = gatewayRoute()
	f.fleet.want(hello("uid-r5", at(1, "nice", "")), false)
	f.start()
	f.awaitReport("uid-r5", 1, "is explained", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() != nil })
	found := f.gatewayAPI()
	found.one("nice.apps.example.com")
	f.awaitReport("uid-r5", 1, "is well", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() == nil })
}
