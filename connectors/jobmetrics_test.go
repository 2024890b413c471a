package connectors_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// metric is a result of GetTaskMetrics.
func metric(t *testing.T, name string, data map[string]any) *core.ExecutionMetricResult {
	t.Helper()
	fields, err := structpb.NewStruct(data)
	require.NoError(t, err)
	return &core.ExecutionMetricResult{Metric: name, Data: fields}
}

// series is data in the form of Prometheus: one series with a label, and values at seconds from 1000 on.
func series(label string, values ...any) map[string]any {
	var pairs []any
	for i, value := range values {
		pairs = append(pairs, []any{1000.5 + float64(i), value})
	}
	return map[string]any{"resultType": "matrix", "result": []any{
		map[string]any{"metric": map[string]any{"__name__": "x", "slot": label}, "values": pairs},
	}}
}

// TestTheMetricsOfAJob: they are asked for when someone looks, bounded, without the values of secrets, and the answer counts for
// all who look.
func TestTheMetricsOfAJob(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	var asked []*connectorv2.GetTaskMetricsRequest
	many := make([]any, 1234)
	for i := range many {
		many[i] = i
	}
	fake.metrics = func(r *connectorv2.GetTaskMetricsRequest) (*connectorv2.GetTaskMetricsResponse, error) {
		asked = append(asked, r)
		results := []*core.ExecutionMetricResult{
			metric(t, "slots", series("hush", "1", "2.5", "NaN", "x", 4)),
			metric(t, "rows", series("a", many...)),
			metric(t, "stage", map[string]any{"name": "shuffle with hush", "done": 3}),
		}
		for i := range 60 {
			results = append(results, metric(t, fmt.Sprint("more ", i), map[string]any{"n": i}))
		}
		return &connectorv2.GetTaskMetricsResponse{Results: results}, nil
	}
	f := newFixture(t, fake.endpoint("batch"))
	f.values["token-of-batch"] = "hush"
	f.serves("batch_job")
	f.run("r", job(func(t *core.TaskTemplate) {
		t.Custom, _ = structpb.NewStruct(map[string]any{"secrets": map[string]any{"token": "token-of-batch"}})
	}))
	f.reaches("r", running)
	fake.with(func() { require.Empty(t, asked, "no one looked") })

	request := &insightv1.GetJobMetricsRequest{ActionId: actionID("r"), Attempt: 1}
	var viewers sync.WaitGroup
	for range 5 {
		viewers.Go(func() { _, _ = f.connectors.GetJobMetrics(t.Context(), request) })
	}
	viewers.Wait()
	answer, err := f.connectors.GetJobMetrics(t.Context(), request)
	require.NoError(t, err)
	require.True(t, answer.GetMore())
	require.Len(t, answer.GetMetrics(), 50)
	slots, rows, stage := answer.GetMetrics()[0], answer.GetMetrics()[1], answer.GetMetrics()[2]
	require.NotContains(t, answer.String(), "hush")
	require.Contains(t, slots.GetName(), `slots{slot="`)
	require.Len(t, slots.GetSamples(), 3, "what is no number is left out")
	require.Equal(t, []float64{1, 2.5, 4}, []float64{slots.GetSamples()[0].GetValue(), slots.GetSamples()[1].GetValue(), slots.GetSamples()[2].GetValue()})
	require.Equal(t, time.Unix(1000, 5e8).UTC(), slots.GetSamples()[0].GetAt().AsTime())
	require.LessOrEqual(t, len(rows.GetSamples()), 500)
	require.Greater(t, len(rows.GetSamples()), 250)
	require.InDelta(t, 1233, rows.GetSamples()[len(rows.GetSamples())-1].GetValue(), 0, "the last one stays")
	require.Contains(t, stage.GetText(), `"done":3`)
	fake.with(func() {
		require.Len(t, asked, 1, "the first answer counts for some seconds")
		require.Equal(t, "batch_job", asked[0].GetTaskCategory().GetName())
		require.True(t, asked[0].GetStartTime().AsTime().Before(asked[0].GetEndTime().AsTime()))
		require.Positive(t, asked[0].GetStep().AsDuration())
	})

	shown, err := f.connectors.GetJob(t.Context(), &insightv1.GetJobRequest{ActionId: actionID("r"), Attempt: 1})
	require.NoError(t, err)
	require.Equal(t, "batch", shown.GetConnector())
	require.Equal(t, fake.has(1)[0].ID, shown.GetJob())
	require.True(t, shown.GetStarted())
	require.NotNil(t, shown.GetRequestedAt())
	require.Empty(t, shown.GetProblem())

	fake.becomes(success())
	f.reaches("r", succeeded)
	f.eventually("the job is gone", func() bool {
		_, err := f.connectors.GetJob(t.Context(), &insightv1.GetJobRequest{ActionId: actionID("r"), Attempt: 1})
		return connect.CodeOf(err) == connect.CodeNotFound
	})
	_, err = f.connectors.GetJobMetrics(t.Context(), request)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	_, err = f.connectors.GetJobMetrics(t.Context(), &insightv1.GetJobMetricsRequest{ActionId: actionID("r")})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
}

// TestAConnectorWithoutMetrics: that is known after the first question, and is not an error; a failure is one, with what was said.
func TestAConnectorWithoutMetrics(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	request := &insightv1.GetJobMetricsRequest{ActionId: actionID("r"), Attempt: 1}
	broken := func(*connectorv2.GetTaskMetricsRequest) (*connectorv2.GetTaskMetricsResponse, error) {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("no such cluster"))
	}
	fake.with(func() { fake.metrics = broken })
	_, err := f.connectors.GetJobMetrics(t.Context(), request)
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
	require.ErrorContains(t, err, "no such cluster")
	fake.with(func() { fake.metrics = nil })
	answer, err := f.connectors.GetJobMetrics(t.Context(), request)
	require.NoError(t, err)
	require.True(t, answer.GetUnsupported())
	fake.with(func() { fake.metrics = broken })
	answer, err = f.connectors.GetJobMetrics(t.Context(), request)
	require.NoError(t, err, "it is not asked again")
	require.True(t, answer.GetUnsupported())
}
