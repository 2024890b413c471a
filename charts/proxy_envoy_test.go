package charts_test

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// envoy configures Envoy as a controller of the Gateway API does for the chart's HTTPRoute and its Service. What Envoy limits by
// default, and the route may lift, is limited to silence.
func envoy(t *testing.T, values, dir, upstream string) proxyProgram {
	t.Helper()
	program, err := filepath.Abs("../.cache/envoy/bin/envoy")
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("Envoy is not installed: run `make envoy`")
	}
	all := objects(t, render(t, "-f", values))
	route := decodeRoute(t, one(t, all, "HTTPRoute", release))
	var routes, clusters []any
	for i, rule := range route.Rules {
		name := "rule-" + strconv.Itoa(i)
		require.Len(t, rule.BackendRefs, 1, "the test knows no weights")
		clusters = append(clusters, envoyCluster(t, name, servicePort(t, all, rule.BackendRefs[0]), upstream))
		for _, match := range rule.Matches {
			routes = append(routes, map[string]any{"match": envoyMatch(t, match.Path), "route": map[string]any{"cluster": name, "timeout": envoyTimeout(t, rule.Timeouts)}})
		}
	}
	socket, path := filepath.Join(dir, "s"), filepath.Join(dir, "envoy.yaml")
	text, err := yaml.Marshal(map[string]any{"static_resources": map[string]any{
		"clusters": clusters,
		"listeners": []any{map[string]any{
			"name":    "public",
			"address": map[string]any{"pipe": map[string]any{"path": socket}},
			"filter_chains": []any{map[string]any{
				"transport_socket": typed("tls", "extensions.transport_sockets.tls.v3.DownstreamTlsContext", map[string]any{
					"common_tls_context": map[string]any{
						"alpn_protocols":   []string{"h2", "http/1.1"},
						"tls_certificates": []any{map[string]any{"certificate_chain": file(dir, "cert.pem"), "private_key": file(dir, "key.pem")}},
					},
				}),
				"filters": []any{typed("http", "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", map[string]any{
					"stat_prefix":         "public",
					"stream_idle_timeout": seconds(silence),
					"http_filters":        []any{typed("envoy.filters.http.router", "extensions.filters.http.router.v3.Router", nil)},
					"route_config":        map[string]any{"virtual_hosts": []any{map[string]any{"name": "flyte", "domains": route.Hostnames, "routes": routes}}},
				})},
			}},
		}},
	}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return proxyProgram{
		path: program, args: []string{"-c", path, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"}, socket: socket, stop: syscall.SIGTERM,
	}
}

// httpRoute is what the chart uses of an HTTPRoute. A field that it starts to use is unknown here, and fails the test.
type httpRoute struct {
	ParentRefs []any    `json:"parentRefs"`
	Hostnames  []string `json:"hostnames"`
	Rules      []struct {
		Matches []struct {
			Path pathMatch `json:"path"`
		} `json:"matches"`
		Timeouts    map[string]string `json:"timeouts"`
		BackendRefs []backendRef      `json:"backendRefs"`
	} `json:"rules"`
}

type pathMatch struct{ Type, Value string }

type backendRef struct {
	Name string
	Port int32
}

func decodeRoute(t *testing.T, object *unstructured.Unstructured) httpRoute {
	t.Helper()
	text, err := json.Marshal(object.Object["spec"])
	require.NoError(t, err)
	var route httpRoute
	require.NoError(t, yaml.UnmarshalStrict(text, &route), "teach the test what the route uses")
	require.NotEmpty(t, route.Rules)
	return route
}

func envoyMatch(t *testing.T, path pathMatch) map[string]any {
	t.Helper()
	switch {
	case path.Type == "Exact":
		return map[string]any{"path": path.Value}
	case path.Value == "/":
		return map[string]any{"prefix": "/"}
	}
	require.Equal(t, "PathPrefix", path.Type)
	return map[string]any{"path_separated_prefix": strings.TrimSuffix(path.Value, "/")}
}

// envoyTimeout is the time limit of a route: 0s is none. A route without one gets Envoy's own, 15 s, here silence.
func envoyTimeout(t *testing.T, timeouts map[string]string) string {
	t.Helper()
	text, found := timeouts["request"]
	if !found {
		return seconds(silence)
	}
	require.Len(t, timeouts, 1, "the test knows request alone")
	limit, err := time.ParseDuration(text)
	require.NoError(t, err)
	return seconds(limit)
}

// servicePort is the port of the Service that a rule names.
func servicePort(t *testing.T, all []*unstructured.Unstructured, ref backendRef) corev1.ServicePort {
	t.Helper()
	var service corev1.Service
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(one(t, all, "Service", ref.Name).Object, &service))
	for _, port := range service.Spec.Ports {
		if port.Port == ref.Port {
			return port
		}
	}
	require.Fail(t, "the route names a port that the Service does not have", "%d", ref.Port)
	return corev1.ServicePort{}
}

// envoyCluster leads to the server of the test, by the protocol that the Service declares.
func envoyCluster(t *testing.T, name string, port corev1.ServicePort, upstream string) map[string]any {
	t.Helper()
	address, number, err := net.SplitHostPort(upstream)
	require.NoError(t, err)
	value, err := strconv.Atoi(number)
	require.NoError(t, err)
	protocol := "http_protocol_options"
	if port.AppProtocol != nil && *port.AppProtocol == "kubernetes.io/h2c" {
		protocol = "http2_protocol_options"
	}
	const options = "extensions.upstreams.http.v3.HttpProtocolOptions"
	return map[string]any{
		"name": name, "type": "STATIC", "connect_timeout": "5s",
		"typed_extension_protocol_options": map[string]any{"envoy." + options: map[string]any{
			"@type": "type.googleapis.com/envoy." + options, "explicit_http_config": map[string]any{protocol: map[string]any{}},
		}},
		"load_assignment": map[string]any{"cluster_name": name, "endpoints": []any{map[string]any{"lb_endpoints": []any{map[string]any{
			"endpoint": map[string]any{"address": map[string]any{"socket_address": map[string]any{"address": address, "port_value": value}}},
		}}}}},
	}
}

// typed is the configuration of an extension of Envoy.
func typed(name, kind string, content map[string]any) map[string]any {
	config := map[string]any{"@type": "type.googleapis.com/envoy." + kind}
	maps.Copy(config, content)
	return map[string]any{"name": name, "typed_config": config}
}

func file(dir, name string) map[string]any {
	return map[string]any{"filename": filepath.Join(dir, name)}
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
