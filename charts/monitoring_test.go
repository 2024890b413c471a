package charts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestMonitoringFollowsTheCluster: objects of Prometheus' operator only where it is, and one for each file of alerts and each
// dashboard of the chart.
func TestMonitoringFollowsTheCluster(t *testing.T) {
	kinds := func(text string) map[string]int {
		count := map[string]int{}
		for _, object := range objects(t, text) {
			count[object.GetKind()]++
		}
		return count
	}
	require.Zero(t, kinds(render(t, installable...))["ServiceMonitor"])

	with := filepath.Join(t.TempDir(), chart)
	require.NoError(t, os.CopyFS(with, os.DirFS(chart)))
	for name, text := range map[string]string{
		"files/alerts/example.yaml":     "groups:\n- name: example\n  rules:\n  - alert: Example\n    expr: up == 0\n    annotations: {summary: \"{{ $labels.job }} is down\"}\n",
		"files/dashboards/example.json": "{\n  \"title\": \"Example {{pod}}\"\n}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(with, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(with, name), []byte(text), 0o600))
	}
	args := append(append([]string{"template", release, with}, installable...), monitoringKinds...)
	text, err := helm(t, "", args...)
	require.NoError(t, err, text)
	all := objects(t, text)
	require.Equal(t, 1, kinds(text)["ServiceMonitor"])
	groups, _, err := unstructured.NestedSlice(one(t, all, "PrometheusRule", release+"-example").Object, "spec", "groups")
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Contains(t, text, `summary: '{{ $labels.job }} is down'`, "templates of Prometheus are not those of helm")
	dashboard := one(t, all, "ConfigMap", release+"-dashboard-example")
	require.Equal(t, "1", dashboard.GetLabels()["grafana_dashboard"])
	content, _, err := unstructured.NestedString(dashboard.Object, "data", "example.json")
	require.NoError(t, err)
	require.JSONEq(t, `{"title": "Example {{pod}}"}`, content)
}
