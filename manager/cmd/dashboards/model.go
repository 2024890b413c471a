package main

import "strings"

// dashboard is one page of panels.
type dashboard struct {
	id, title string
	panels    []panel
}

// panel is one graph. Its queries are drawn together.
type panel struct {
	title, about string
	unit         string // of Grafana: s, bytes, short, percentunit, reqps
	queries      []query
}

// query is an expression of PromQL and the legend of its lines. $j represents the selector of the chosen jobs.
type query struct{ expr, legend string }

// object is JSON that Grafana defines. Keys are written in the order of the alphabet.
type object map[string]any

const (
	columns = 2
	width   = 24 / columns
	height  = 8
)

// model is the dashboard as Grafana imports it.
func (d dashboard) model() object {
	panels := make([]object, len(d.panels))
	for i, p := range d.panels {
		panels[i] = p.model(i)
	}
	return object{
		"uid": d.id, "title": d.title, "tags": []string{"flyte-binary"}, "schemaVersion": 39, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "1m", "panels": panels,
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			{
				"name": "job", "label": "Job", "type": "query", "datasource": source(), "multi": true, "includeAll": true,
				"current": object{"text": "All", "value": "$__all"}, "query": "label_values(flyte_build_info, job)", "refresh": 2,
			},
		}},
	}
}

func (p panel) model(number int) object {
	targets := make([]object, len(p.queries))
	for i, q := range p.queries {
		targets[i] = object{
			"refId": string(rune('A' + i)), "expr": strings.ReplaceAll(q.expr, "$j", `job=~"$job"`), "legendFormat": q.legend,
			"datasource": source(),
		}
	}
	return object{
		"id": number + 1, "title": p.title, "description": p.about, "type": "timeseries", "datasource": source(),
		"gridPos": object{"x": number % columns * width, "y": number / columns * height, "w": width, "h": height},
		"fieldConfig": object{
			"defaults":  object{"unit": p.unit, "min": 0, "custom": object{"fillOpacity": 10, "showPoints": "never"}},
			"overrides": []object{},
		},
		"options": object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi"}},
		"targets": targets,
	}
}

func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// one is a panel with one query.
func one(title, unit, expr, legend, about string) panel {
	return panel{title: title, unit: unit, about: about, queries: []query{{expr, legend}}}
}

// rate is a panel of a counter by some labels.
func rate(title, metric, by, legend, about string) panel {
	return one(title, "reqps", "sum by ("+by+") (rate("+metric+"{$j}[$__rate_interval]))", legend, about)
}

// quantiles is a panel of the median and the slow end of a histogram.
func quantiles(title, metric, matchers, about string) panel {
	p := panel{title: title, unit: "s", about: about}
	for _, q := range []string{"0.5", "0.99"} {
		p.queries = append(p.queries, query{
			"histogram_quantile(" + q + ", sum by (le) (rate(" + metric + "_bucket{$j" + matchers + "}[$__rate_interval])))", "quantile " + q,
		})
	}
	return p
}
