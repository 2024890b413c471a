package connectors

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
)

const (
	// maxMetrics and maxSamples bound what is returned of a job.
	maxMetrics = 50
	maxSamples = 500
	// maxMetricName and maxMetricText bound the texts of a metric, in bytes.
	maxMetricName = 300
	maxMetricText = 2 << 10
	// metricSteps is how many samples the connector is asked for.
	metricSteps = 200
)

// metrics asks the connector for the metrics of a job, from its request to now.
func (w *worker) metrics(ctx context.Context, j *store.Job) (*insightv1.GetJobMetricsResponse, error) {
	given, err := w.connection(ctx, j, j.Secrets, false)
	if err != nil {
		return nil, err
	}
	now := w.deps.Clock.Now()
	began := now
	if j.BegunAt != nil {
		began = *j.BegunAt
	}
	bounded, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	answer, err := call(bounded, w, "GetTaskMetrics", w.remote.jobs.GetTaskMetrics, &connectorv2.GetTaskMetricsRequest{
		ResourceMeta: j.Meta, TaskCategory: category(j), StartTime: timestamppb.New(began), EndTime: timestamppb.New(now),
		Step: durationpb.New(max(time.Second, (now.Sub(began) / metricSteps).Truncate(time.Second))),
	}, given)
	if err != nil {
		return nil, err
	}
	return shownMetrics(answer.GetResults(), w.remote.hidden(given)), nil
}

// shownMetrics are the metrics of a job, bounded, without the values of secrets and tokens of tasks.
func shownMetrics(results []*core.ExecutionMetricResult, hidden *redact.Values) *insightv1.GetJobMetricsResponse {
	shown := &insightv1.GetJobMetricsResponse{}
	add := func(m *insightv1.JobMetric) bool {
		if shown.More = len(shown.GetMetrics()) == maxMetrics; shown.GetMore() {
			return false
		}
		m.Name = hidden.Text(clip.Ellipsis(redact.Tokens(m.GetName()), maxMetricName))
		m.Text = hidden.Text(clip.Ellipsis(redact.Tokens(m.GetText()), maxMetricText))
		shown.Metrics = append(shown.Metrics, m)
		return true
	}
	for _, result := range results {
		for _, metric := range metricsOf(result) {
			if !add(metric) {
				return shown
			}
		}
	}
	return shown
}

// metricsOf reads one result. The contract does not say what form its data has; that of queries to Prometheus is known: each series
// becomes a metric. Other data is shown as it is.
func metricsOf(result *core.ExecutionMetricResult) (metrics []*insightv1.JobMetric) {
	data := result.GetData().GetFields()
	if inner := data["data"].GetStructValue(); inner != nil && data["result"] == nil { // the whole answer of Prometheus
		data = inner.GetFields()
	}
	for _, series := range data["result"].GetListValue().GetValues() {
		fields := series.GetStructValue().GetFields()
		values := fields["values"].GetListValue().GetValues()
		if one := fields["value"]; one != nil && values == nil {
			values = []*structpb.Value{one}
		}
		samples := samplesOf(values)
		if len(samples) == 0 {
			continue
		}
		metrics = append(metrics, &insightv1.JobMetric{
			Name: result.GetMetric() + labelsOf(fields["metric"].GetStructValue().GetFields()), Samples: samples,
		})
	}
	if len(metrics) > 0 || result.GetData() == nil {
		return metrics
	}
	text, err := json.Marshal(result.GetData().AsMap())
	if err != nil { // such as NaN, which JSON does not have
		text = []byte(result.GetData().String())
	}
	return []*insightv1.JobMetric{{Name: result.GetMetric(), Text: string(text)}}
}

// labelsOf are the labels of a series, in the form of Prometheus.
func labelsOf(labels map[string]*structpb.Value) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name != "__name__" {
			pairs = append(pairs, name+"="+strconv.Quote(labels[name].GetStringValue()))
		}
	}
	if pairs == nil {
		return ""
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// samplesOf are pairs of seconds and a value in the order of their times; what is no such pair is left out.
func samplesOf(pairs []*structpb.Value) (samples []*insightv1.JobSample) {
	every := max(1, (len(pairs)+maxSamples-1)/maxSamples)
	for i, pair := range pairs {
		if (len(pairs)-1-i)%every != 0 { // the last one stays
			continue
		}
		both := pair.GetListValue().GetValues()
		if len(both) != 2 {
			continue
		}
		at, known := numberOf(both[0])
		value, is := numberOf(both[1])
		if !known || !is || math.IsNaN(value) || math.IsInf(value, 0) || at < 0 || at > maxSeconds {
			continue
		}
		whole, part := math.Modf(at)
		samples = append(samples, &insightv1.JobSample{At: timestamppb.New(time.Unix(int64(whole), int64(part*1e9))), Value: value})
	}
	slices.SortStableFunc(samples, func(a, b *insightv1.JobSample) int {
		return cmp.Or(cmp.Compare(a.GetAt().GetSeconds(), b.GetAt().GetSeconds()), cmp.Compare(a.GetAt().GetNanos(), b.GetAt().GetNanos()))
	})
	return samples
}

// maxSeconds is the end of the year 9999, after which no timestamp is valid.
const maxSeconds = 253402300799

// numberOf reads a number, or a text with one, as Prometheus writes values.
func numberOf(v *structpb.Value) (float64, bool) {
	switch v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return v.GetNumberValue(), true
	case *structpb.Value_StringValue:
		n, err := strconv.ParseFloat(v.GetStringValue(), 64)
		return n, err == nil
	default:
		return 0, false
	}
}
