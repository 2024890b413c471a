package charts_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

// TestTheHTTPRouteIsValid: an API server that has the definitions of the Gateway API accepts the chart's route as it is, and refuses
// one with a field or a value that the definitions do not know.
func TestTheHTTPRouteIsValid(t *testing.T) {
	cluster := kubetest.New(t)
	installHTTPRoutes(t, cluster)
	client, err := dynamic.NewForConfig(cluster.Config)
	require.NoError(t, err)
	routes := client.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}).Namespace(cluster.Namespace)
	create := func(change func(spec map[string]any)) (*unstructured.Unstructured, error) {
		route := one(t, objects(t, render(t, "-f", "testdata/values/gateway.yaml")), "HTTPRoute", release)
		route.SetNamespace(cluster.Namespace)
		spec, found, err := unstructured.NestedMap(route.Object, "spec")
		require.NoError(t, err)
		require.True(t, found)
		change(spec)
		route.Object["spec"] = spec
		return routes.Create(t.Context(), route, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	}

	_, err = create(func(spec map[string]any) { spec["hostname"] = host })
	require.ErrorContains(t, err, `unknown field "spec.hostname"`)
	_, err = create(func(spec map[string]any) { spec["hostnames"] = []any{"not a host"} })
	require.ErrorContains(t, err, "spec.hostnames[0]")
	stored, err := create(func(map[string]any) {})
	require.NoError(t, err)
	kept, found, err := unstructured.NestedSlice(stored.Object, "spec", "rules")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "0s", kept[0].(map[string]any)["timeouts"].(map[string]any)["request"])
}

// installHTTPRoutes installs the definition of HTTPRoutes, of the version in tools/gatewayapi.
func installHTTPRoutes(t *testing.T, cluster *kubetest.Cluster) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "sigs.k8s.io/gateway-api")
	command.Dir = "../tools/gatewayapi"
	answer, err := command.Output()
	require.NoError(t, err, string(answer))
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(answer, &module))
	text, err := os.ReadFile(filepath.Join(module.Dir, "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"))
	require.NoError(t, err)
	var wanted apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(text, &wanted))
	definitions := definitionsOf(t, cluster)
	_, err = definitions.Create(t.Context(), &wanted, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, definitions.Delete(context.WithoutCancel(t.Context()), wanted.Name, metav1.DeleteOptions{}))
	})
	require.Eventually(t, func() bool {
		_, err := cluster.Clientset.Discovery().ServerResourcesForGroupVersion("gateway.networking.k8s.io/v1")
		return err == nil
	}, time.Minute, 10*time.Millisecond, "the API server does not serve HTTPRoutes")
}
