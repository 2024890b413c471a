package monitoring_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// recording is a file of testdata: the series of a fault, in promtool's notation.
type recording struct {
	// Alert is the alert that the fault must raise.
	Alert string
	// Interval is the time between two samples.
	Interval string
	// Quiet is a time before the fault, Fires one at which the alert must fire, and Ends one after the fault at which it must
	// not; Ends is empty where the recording ends before.
	Quiet, Fires, Ends string
	Series             []struct{ Series, Values string }
}

func recordings(t *testing.T) map[string]recording {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	all := map[string]recording{}
	for _, path := range files {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Regexp(t, `^# (Recorded|Synthetic)`, string(body), "%s does not say where its series are from", path)
		var one recording
		require.NoError(t, yaml.Unmarshal(body, &one), path)
		require.NotEmpty(t, one.Series, path)
		all[path] = one
	}
	return all
}

// promtool is the path of Prometheus' tool; the test is skipped where there is none.
func promtool(t *testing.T) string {
	t.Helper()
	own, err := filepath.Abs(filepath.Join(root, ".bin/promtool"))
	require.NoError(t, err)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: make promtool")
	}
	return path
}

func TestEveryExpressionIsPromQL(t *testing.T) {
	tool := promtool(t)
	checked := map[string]any{}
	var list []map[string]string
	for i, e := range expressions(t) {
		list = append(list, map[string]string{"record": fmt.Sprintf("checked:%d", i), "expr": e.text})
	}
	checked["groups"] = []map[string]any{{"name": "checked", "rules": list}}
	body, err := yaml.Marshal(checked)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, body, 0o600))
	out, err := exec.CommandContext(t.Context(), tool, append([]string{"check", "rules", path}, rulesFiles(t)...)...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// Every alert is silent before its fault, fires during it, and ends after it.
func TestAlertsFireOnTheirFaults(t *testing.T) {
	tested := map[string]bool{}
	var tests []map[string]any
	for _, one := range recordings(t) {
		tested[one.Alert] = true
		firing := fmt.Sprintf(`count(ALERTS{alertname=%q, alertstate="firing"})`, one.Alert)
		checks := []map[string]any{{"expr": firing, "eval_time": one.Fires, "exp_samples": []map[string]any{{"labels": "{}", "value": 1}}}}
		for _, quiet := range []string{one.Quiet, one.Ends} {
			if quiet != "" {
				checks = append(checks, map[string]any{"expr": firing, "eval_time": quiet})
			}
		}
		var series []map[string]string
		for _, s := range one.Series {
			series = append(series, map[string]string{"series": s.Series, "values": s.Values})
		}
		tests = append(tests, map[string]any{"name": one.Alert, "interval": one.Interval, "input_series": series, "promql_expr_test": checks})
	}
	for _, one := range rules(t) {
		if one.Alert != "" {
			require.True(t, tested[one.Alert], "%s has no recorded fault in testdata", one.Alert)
			delete(tested, one.Alert)
		}
	}
	require.Empty(t, tested, "recordings of alerts that do not exist")

	tool := promtool(t)
	files := rulesFiles(t)
	for i, path := range files {
		absolute, err := filepath.Abs(path)
		require.NoError(t, err)
		files[i] = absolute
	}
	body, err := yaml.Marshal(map[string]any{"rule_files": files, "evaluation_interval": "15s", "tests": tests})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "alerts.yaml")
	require.NoError(t, os.WriteFile(path, body, 0o600))
	out, err := exec.CommandContext(t.Context(), tool, "test", "rules", path).CombinedOutput()
	require.NoError(t, err, string(out))
}

// recorded checks that recordings have series that servers serve.
func recorded(t *testing.T, all known) {
	for path, one := range recordings(t) {
		for _, s := range one.Series {
			name, _, _ := strings.Cut(s.Series, "{")
			_, _, found := all.metricOf(name)
			require.True(t, found, "%s: no server serves %s", path, name)
		}
	}
}

func TestEveryAlertHasARunbook(t *testing.T) {
	found := map[string]bool{}
	for _, one := range rules(t) {
		if one.Alert == "" {
			continue
		}
		require.Contains(t, []string{"page", "ticket"}, one.Labels["severity"], one.Alert)
		require.NotEmpty(t, one.Annotations["summary"], one.Alert)
		require.NotEmpty(t, one.Annotations["description"], one.Alert)
		require.True(t, strings.HasSuffix(one.Annotations["runbook_url"], "/docs/runbooks/"+one.Alert+".md"), one.Alert)
		body, err := os.ReadFile(filepath.Join(root, "docs/runbooks", one.Alert+".md"))
		require.NoError(t, err)
		for _, heading := range []string{"# " + one.Alert, "## What it means", "## Who is affected", "## Confirm", "## What to do", "## Never"} {
			require.Contains(t, string(body), heading+"\n", one.Alert)
		}
		found[one.Alert+".md"] = true
	}
	files, err := filepath.Glob(filepath.Join(root, "docs/runbooks/Flyte*.md"))
	require.NoError(t, err)
	for _, path := range files {
		require.True(t, found[filepath.Base(path)], "%s is about no alert", path)
	}
}
