package monitoring_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// rule is one alert or recording rule.
type rule struct {
	Alert, Record, Expr, For string
	Labels, Annotations      map[string]string
}

// rulesFiles are the files of rules of the chart, for promtool.
func rulesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "charts/flyte-binary/files/alerts/*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, path := range rulesFiles(t) {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		var file struct {
			Groups []struct{ Rules []rule }
		}
		require.NoError(t, yaml.Unmarshal(body, &file), path)
		for _, group := range file.Groups {
			all = append(all, group.Rules...)
		}
	}
	return all
}

// expression is PromQL and where it stands.
type expression struct{ where, text string }

// expressions are those of all rules and panels.
func expressions(t *testing.T) []expression {
	t.Helper()
	var all []expression
	for _, one := range rules(t) {
		all = append(all, expression{one.Alert + one.Record, one.Expr})
	}
	files, err := filepath.Glob(filepath.Join(root, "charts/flyte-binary/files/dashboards/*.json"))
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, path := range files {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		require.NoError(t, json.Unmarshal(body, &board), path)
		require.NotEmpty(t, board.Panels, path)
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				text := strings.NewReplacer("$__rate_interval", "5m", "$job", "flyte").Replace(target.Expr)
				all = append(all, expression{filepath.Base(path) + ": " + panel.Title, text})
			}
		}
	}
	return all
}

// selector is a metric that an expression reads, with the labels that it matches or groups by.
type selector struct {
	metric string
	labels []string
}

// selectors are those of an expression. A label by which an expression groups must be one of each metric below it.
func selectors(t *testing.T, e expression) []selector {
	t.Helper()
	parsed, err := metricsql.Parse(e.text)
	require.NoError(t, err, "%s: %s", e.where, e.text)
	var found []selector
	var walk func(metricsql.Expr, []string)
	walk = func(node metricsql.Expr, grouped []string) {
		switch node := node.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range node.LabelFilterss {
				one := selector{labels: slices.Clone(grouped)}
				for _, filter := range filters {
					if filter.Label == "__name__" {
						one.metric = filter.Value
						continue
					}
					one.labels = append(one.labels, filter.Label)
				}
				require.NotEmpty(t, one.metric, "%s selects by labels alone", e.where)
				found = append(found, one)
			}
		case *metricsql.RollupExpr:
			walk(node.Expr, grouped)
		case *metricsql.FuncExpr:
			for _, arg := range node.Args {
				walk(arg, grouped)
			}
		case *metricsql.AggrFuncExpr:
			below := grouped
			if node.Name != "topk" {
				below = slices.Clone(node.Modifier.Args) // what is outside sees no other labels
			}
			for _, arg := range node.Args {
				walk(arg, below)
			}
		case *metricsql.BinaryOpExpr:
			walk(node.Left, grouped)
			walk(node.Right, grouped)
		}
	}
	walk(parsed, nil)
	return found
}

// metricOf is the metric that has a series, which may be a part of a histogram.
func (k known) metricOf(series string) (string, served, bool) {
	if one, found := k[series]; found {
		return series, one, true
	}
	for _, part := range []string{"_bucket", "_count", "_sum"} {
		name, is := strings.CutSuffix(series, part)
		if one, found := k[name]; is && found && one.kind == "histogram" {
			if part == "_bucket" {
				one.labels = append(slices.Clone(one.labels), "le")
			}
			return name, one, true
		}
	}
	return "", served{}, false
}

// ofTheScrape are labels that Prometheus adds.
var ofTheScrape = []string{"job", "instance"}

// asked checks every expression against the metrics.
func asked(t *testing.T, all known) {
	records := map[string]bool{}
	for _, one := range rules(t) {
		records[one.Record] = true
	}
	for _, e := range expressions(t) {
		for _, s := range selectors(t, e) {
			if records[s.metric] {
				for _, label := range s.labels {
					require.Contains(t, append(ofTheScrape, "slo"), label, "%s: %s has no such label", e.where, s.metric)
				}
				continue
			}
			_, one, found := all.metricOf(s.metric)
			require.True(t, found, "%s: no server serves %s", e.where, s.metric)
			for _, label := range s.labels {
				require.Contains(t, append(ofTheScrape, one.labels...), label, "%s: %s has no such label", e.where, s.metric)
			}
		}
	}
}

// namesUsed are the metrics that any expression reads.
func namesUsed(t *testing.T) map[string]bool {
	used := map[string]bool{}
	for _, e := range expressions(t) {
		for _, s := range selectors(t, e) {
			used[s.metric] = true
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				used[strings.TrimSuffix(s.metric, part)] = true
			}
		}
	}
	return used
}
