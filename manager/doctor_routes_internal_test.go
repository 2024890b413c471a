package manager

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/apps/deployer"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// names are the hosts that resolve.
type names map[string]string

// LookupHost implements resolver.
func (n names) LookupHost(_ context.Context, host string) ([]string, error) {
	if address, ok := n[host]; ok {
		return []string{address}, nil
	}
	return nil, errors.New("no such host")
}

func TestDoctorLooksUpTheHostsOfApps(t *testing.T) {
	config := configuration.DefaultConfig()
	require.Empty(t, examineHosts(t.Context(), config, names{}), "apps have no hosts by default")
	config.Gateway.Domain = "apps.example.com"
	config.Deployer.Route = deployer.Route{Kind: deployer.RouteIngress, Domain: "direct.example.com"}
	found := examineHosts(t.Context(), config, names{"doctor.apps.example.com": "10.0.0.1"})
	require.Len(t, found, 2)
	require.NoError(t, found[0].Err)
	require.Equal(t, "*.apps.example.com resolves to 10.0.0.1", found[0].Detail)
	require.ErrorContains(t, found[1].Err, "no such host")
	require.Equal(t, "add the record *.direct.example.com to your name server, or correct deployer.route.domain", found[1].Fix)

	config.Target, config.Gateway.Domain = configuration.TargetAPI, "localhost"
	found = examineHosts(t.Context(), config, names{})
	require.Len(t, found, 1, "the API makes no routes")
	require.NoError(t, found[0].Err, "browsers know *.localhost")
}

func TestDoctorChecksIngressClasses(t *testing.T) {
	cluster := kubetest.New(t)
	objects, err := kubeclient.New(cluster.Config, kubeclient.Options{})
	require.NoError(t, err)
	examine := func(class string) Finding {
		found := examineRoutes(t.Context(), cluster.Config, deployer.Route{Kind: deployer.RouteIngress, IngressClass: class})
		require.Len(t, found, 1)
		return found[0]
	}
	require.Empty(t, examineRoutes(t.Context(), cluster.Config, deployer.Route{Kind: deployer.RouteNone}))
	require.EqualError(t, examine("").Err, "the cluster has no default IngressClass; it has none")

	made := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/ingress"},
	}
	require.NoError(t, objects.Create(t.Context(), made))
	t.Cleanup(func() { require.NoError(t, objects.Delete(context.Background(), made)) })
	require.NoError(t, examine(cluster.Namespace).Err)
	require.EqualError(t, examine("").Err, "the cluster has no default IngressClass; it has "+cluster.Namespace)
	require.EqualError(t, examine("other").Err, `the cluster has no IngressClass "other"; it has `+cluster.Namespace)

	made.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
	require.NoError(t, objects.Update(t.Context(), made))
	found := examine("")
	require.NoError(t, found.Err)
	require.Equal(t, "Ingresses of class "+cluster.Namespace+", served by example.com/ingress", found.Detail)
}

func TestDoctorChecksTheGateway(t *testing.T) {
	cluster := kubetest.New(t)
	examine := func() Finding {
		found := examineRoutes(t.Context(), cluster.Config, deployer.Route{Kind: deployer.RouteGateway, Gateway: cluster.Namespace + "/public"})
		require.Len(t, found, 1)
		return found[0]
	}
	require.EqualError(t, examine().Err, "the cluster does not have the Gateway API")

	kubetest.Define(t, cluster, gatewayKind, "gateways")
	require.EqualError(t, examine().Err, "there is no Gateway "+cluster.Namespace+"/public")

	objects, err := kubeclient.New(cluster.Config, kubeclient.Options{})
	require.NoError(t, err)
	gateway := &unstructured.Unstructured{}
	gateway.SetGroupVersionKind(gatewayKind)
	gateway.SetNamespace(cluster.Namespace)
	gateway.SetName("public")
	require.NoError(t, objects.Create(t.Context(), gateway))
	require.EqualError(t, examine().Err, "no controller has reported on this Gateway")

	report := func(status, reason string) {
		require.NoError(t, unstructured.SetNestedSlice(gateway.Object, []any{map[string]any{
			"type": "Programmed", "status": status, "reason": reason, "message": "no addresses are left",
		}}, "status", "conditions"))
		require.NoError(t, objects.Update(t.Context(), gateway))
	}
	report("False", "AddressNotUsable")
	require.EqualError(t, examine().Err, "the Gateway is not programmed: AddressNotUsable: no addresses are left")
	report("True", "Programmed")
	found := examine()
	require.NoError(t, found.Err)
	require.Equal(t, "HTTPRoutes of the Gateway "+cluster.Namespace+"/public", found.Detail)
}
