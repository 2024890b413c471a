package monitoring_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

var record = flag.Bool("record", false, "write testdata from real faults; it takes 13 minutes")

const (
	recordEvery = 15 * time.Second
	faultBegins = 2 * time.Minute
	recordEnds  = 12*time.Minute + 30*time.Second
)

// scenario is a fault of a real server.
type scenario struct {
	alert string
	// how says what was done, for the file.
	how string
	// until is when the fault ends, from the start of the recording.
	until time.Duration
	// fires and ends are as in recording.
	fires, ends string
	// prepare starts the servers and their clients and returns what to scrape, by instance, and what makes and ends the fault.
	prepare func(t *testing.T) (scraped map[string]string, begin, end func())
	// rebase is a metric whose values are Unix times; they are counted from the start of the recording, as promtool's clock is.
	rebase string
}

// TestRecord writes the recordings. Faults run at the same time and in real time.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("recording takes 13 minutes: go test ./manager/monitoring -run TestRecord -record -timeout 30m")
	}
	for _, one := range scenarios() {
		t.Run(one.alert, func(t *testing.T) {
			t.Parallel()
			one.record(t)
		})
	}
}

func (s scenario) record(t *testing.T) {
	scraped, begin, end := s.prepare(t)
	wanted := wantedBy(t, s.alert)
	tape := &tape{values: map[string]map[int]float64{}}
	began := time.Now()
	ticker := time.NewTicker(recordEvery)
	defer ticker.Stop()
	for n, broken, healed := 0, false, false; time.Since(began) < recordEnds; n++ {
		for instance, url := range scraped {
			tape.sample(t.Context(), n, instance, url, wanted, s.rebase, float64(began.Unix()))
		}
		if !broken && time.Since(began) >= faultBegins-recordEvery/2 {
			broken = true
			begin()
		}
		if broken && !healed && time.Since(began) >= s.until-recordEvery/2 {
			healed = true
			end()
		}
		<-ticker.C
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# Recorded from a real server every %s. %s\n# The fault began after %s and ended after %s. Written by TestRecord; times of day count from the start.\n",
		recordEvery, s.how, faultBegins, s.until)
	fmt.Fprintf(&text, "alert: %s\ninterval: 15s\nquiet: 1m45s\nfires: %s\n", s.alert, s.fires)
	if s.ends != "" {
		fmt.Fprintf(&text, "ends: %s\n", s.ends)
	}
	text.WriteString("series:\n")
	for _, series := range slices.Sorted(maps.Keys(tape.values)) {
		fmt.Fprintf(&text, "  - series: %s\n    values: %s\n", quoted(series), quoted(notation(tape.values[series], tape.length)))
	}
	require.NoError(t, os.WriteFile(filepath.Join("testdata", s.alert+".yaml"), []byte(text.String()), 0o644))
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// wantedBy are the selectors that an alert reads, through recording rules too.
func wantedBy(t *testing.T, alert string) []*metricsql.MetricExpr {
	var wanted []*metricsql.MetricExpr
	var read func(expr string)
	read = func(expr string) {
		parsed, err := metricsql.Parse(expr)
		require.NoError(t, err)
		metricsql.VisitAll(parsed, func(node metricsql.Expr) {
			selected, is := node.(*metricsql.MetricExpr)
			if !is {
				return
			}
			filters, recorded := selected.LabelFilterss[0], false
			for _, one := range rules(t) {
				if one.Record != filters[0].Value {
					continue
				}
				recorded = true
				if slices.ContainsFunc(filters, func(f metricsql.LabelFilter) bool { return f.Label == "slo" && f.Value == one.Labels["slo"] }) {
					read(one.Expr)
				}
			}
			if !recorded {
				wanted = append(wanted, selected)
			}
		})
	}
	for _, one := range rules(t) {
		if one.Alert == alert {
			read(one.Expr)
		}
	}
	require.NotEmpty(t, wanted, alert)
	return wanted
}

// tape has the values of series by the number of the sample.
type tape struct {
	values map[string]map[int]float64
	length int // how many samples were taken
}

func (p *tape) sample(ctx context.Context, n int, instance, url string, wanted []*metricsql.MetricExpr, rebase string, zero float64) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // as Prometheus does
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return // a scrape that fails has no samples
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return
	}
	families, err := parse(string(body))
	if err != nil {
		return
	}
	p.length = max(p.length, n+1)
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{"job": "flyte", "instance": instance}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			for _, point := range points(name, metric) {
				all := maps.Clone(labels)
				maps.Copy(all, point.labels)
				if !slices.ContainsFunc(wanted, func(w *metricsql.MetricExpr) bool { return matches(w, point.name, all) }) {
					continue
				}
				if point.name == rebase {
					point.value -= zero
				}
				p.put(seriesName(point.name, all), n, point.value)
			}
		}
	}
}

func (p *tape) put(series string, n int, value float64) {
	if p.values[series] == nil {
		p.values[series] = map[int]float64{}
	}
	p.values[series][n] = value
}

type point struct {
	name   string
	labels map[string]string
	value  float64
}

func points(name string, metric *dto.Metric) []point {
	switch {
	case metric.GetCounter() != nil:
		return []point{{name: name, value: metric.GetCounter().GetValue()}}
	case metric.GetGauge() != nil:
		return []point{{name: name, value: metric.GetGauge().GetValue()}}
	case metric.GetHistogram() != nil:
		found := []point{{name: name + "_count", value: float64(metric.GetHistogram().GetSampleCount())}}
		for _, bucket := range metric.GetHistogram().GetBucket() {
			le := strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64)
			found = append(found, point{name: name + "_bucket", labels: map[string]string{"le": le}, value: float64(bucket.GetCumulativeCount())})
		}
		return found
	default:
		return nil
	}
}

func matches(wanted *metricsql.MetricExpr, name string, labels map[string]string) bool {
	for _, filter := range wanted.LabelFilterss[0] {
		value := labels[filter.Label]
		if filter.Label == "__name__" {
			value = name
		}
		same := value == filter.Value
		if filter.IsRegexp {
			same = regexp.MustCompile("^(?:" + filter.Value + ")$").MatchString(value)
		}
		if same == filter.IsNegative {
			return false
		}
	}
	return true
}

func seriesName(name string, labels map[string]string) string {
	var parts []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, fmt.Sprintf("%s=%q", label, labels[label]))
	}
	return name + "{" + strings.Join(parts, ", ") + "}"
}

// notation writes samples, of all that were taken, as promtool reads them: runs of the same value as v+0xN, missing ones as _, after
// stale where the
// series was there before.
func notation(samples map[int]float64, taken int) string {
	var parts []string
	last := slices.Max(slices.Collect(maps.Keys(samples)))
	if last+1 < taken {
		last++ // the end of the series is marked, too
	}
	for n := 0; n <= last; {
		value, there := samples[n]
		length := 1
		for next := n + 1; next <= last; next++ {
			if other, also := samples[next]; also != there || other != value {
				break
			}
			length++
		}
		text := strconv.FormatFloat(value, 'f', -1, 64)
		switch {
		case !there && n > 0: // Prometheus marks the end of a series
			if parts = append(parts, "stale"); length > 1 {
				parts = append(parts, "_x"+strconv.Itoa(length-1))
			}
		case !there:
			parts = append(parts, "_x"+strconv.Itoa(length))
		case length > 2:
			parts = append(parts, text+"+0x"+strconv.Itoa(length-1))
		default:
			parts = append(parts, slices.Repeat([]string{text}, length)...)
		}
		n += length
	}
	return strings.Join(parts, " ")
}
