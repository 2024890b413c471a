package monitoring_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

// served is one metric as the tests know it, from what a server declares and serves.
type served struct {
	kind, help string
	labels     []string
	ours       bool
}

// known are all metrics by name.
type known map[string]served

func knownOf(server started, families map[string]*dto.MetricFamily) known {
	all := known{}
	for name, family := range families {
		one := served{kind: strings.ToLower(family.GetType().String()), help: family.GetHelp()}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if !slices.Contains(one.labels, label.GetName()) {
					one.labels = append(one.labels, label.GetName())
				}
			}
		}
		all[name] = one
	}
	for _, made := range server.made {
		all[made.Name] = served{kind: made.Type, help: made.Help, labels: made.Labels, ours: true}
	}
	return all
}

// maxSeries bounds the sets of labels that one metric has after a small workload.
const maxSeries = 60

// Everything about metrics is checked on one server: it is the slow part.
func TestMetrics(t *testing.T) {
	server := everything(t)
	families := scrape(t, server.url)
	all := knownOf(server, families)
	t.Run("keep the conventions", func(t *testing.T) {
		for name, one := range all {
			if one.ours {
				convention(t, name, one)
			}
		}
	})
	t.Run("have few series, whatever users do", func(t *testing.T) {
		for name, family := range families {
			if one, listed := all[name]; strings.HasPrefix(name, "flyte_") {
				require.True(t, listed && one.ours, "%s is not made by internal/obs", name)
			}
			require.LessOrEqual(t, len(family.GetMetric()), maxSeries, "%s has too many series", name)
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					require.NotContains(t, label.GetValue(), "conspicuous", "%s{%s} has the name of a run or a task", name, label.GetName())
					if !all[name].ours {
						continue // the library names the API server, of which there is one
					}
					require.NotRegexp(t, `127\.0\.0\.1:\d+`, label.GetValue(), "%s{%s} has an address", name, label.GetName())
				}
			}
		}
	})
	t.Run("are listed", func(t *testing.T) { listed(t, all) })
	t.Run("are what dashboards and alerts ask for", func(t *testing.T) { asked(t, all) })
	t.Run("have all series of the recorded faults", func(t *testing.T) { recorded(t, all) })
}

func convention(t *testing.T, name string, one served) {
	t.Helper()
	require.NotEmpty(t, one.help, "%s has no help", name)
	require.Regexp(t, `^(flyte|rpc)(_[a-z0-9]+)+$`, name)
	require.Equal(t, one.kind == "counter", strings.HasSuffix(name, "_total"), "%s is a %s", name, one.kind)
	require.NotRegexp(t, `(_ms|_millis|milliseconds|_minutes|_hours|_kb|_mb|kilobytes|megabytes|_percent)(_|$)`, name, "units are seconds, bytes and ratios")
	if one.kind == "histogram" {
		require.Regexp(t, `_(seconds|bytes)$`, name, "a histogram without a unit")
	}
	for _, label := range one.labels {
		require.Regexp(t, `^[a-z_]+$`, label, name)
		require.NotContains(t, []string{"run", "action", "project", "domain", "task", "user", "id", "uid", "pod", "name", "url", "address"}, label, name)
	}
}

const listHead = `# Metrics

<!-- Generated: go test ./manager/monitoring -run TestMetrics -update -->

` + "`/metrics`" + ` of every process serves these metrics, as far as the process has the part that they are about. Scrapers that accept
OpenMetrics also get exemplars with the ids of traces. A metric without labels other than those of the scrape has none in
this list. Labels have few values; names of runs, actions and tasks are in logs and traces.

`

// listed compares docs/metrics.md with the metrics.
func listed(t *testing.T, all known) {
	var text strings.Builder
	text.WriteString(listHead + "## Of flyte-binary\n\n")
	table(&text, all, func(_ string, one served) bool { return one.ours })
	text.WriteString("\n## Of libraries\n\nThose that the dashboards and alerts use. There are more, with the prefixes `go_`, `process_`, `rest_client_`,\n" +
		"`workqueue_` and `controller_runtime_`.\n\n")
	used := namesUsed(t)
	table(&text, all, func(name string, one served) bool { return !one.ours && used[name] })
	path := filepath.Join(root, "docs/metrics.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	}
	current, err := os.ReadFile(path)
	require.NoError(t, err)
	if string(current) == text.String() {
		return
	}
	was, is := strings.Split(string(current), "\n"), strings.Split(text.String(), "\n")
	missing := func(from, in []string) (lines []string) {
		for _, line := range from {
			if !slices.Contains(in, line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	require.Fail(t, "docs/metrics.md is not current; a comment in it says how to write it. Labels are in manager/metric_labels.go",
		"only in the file: %v\nonly served: %v", missing(was, is), missing(is, was))
}

func table(text *strings.Builder, all known, wanted func(string, served) bool) {
	text.WriteString("| metric | type | labels | |\n|---|---|---|---|\n")
	names := make([]string, 0, len(all))
	for name, one := range all {
		if wanted(name, one) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		one := all[name]
		labels := slices.Sorted(slices.Values(one.labels))
		for i, label := range labels {
			labels[i] = "`" + label + "`"
		}
		fmt.Fprintf(text, "| `%s` | %s | %s | %s |\n", name, one.kind, strings.Join(labels, ", "), strings.ReplaceAll(one.help, "|", `\|`))
	}
}
