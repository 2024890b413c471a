package insight

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// HistoryReader counts and times the actions of a task; lists.Reader does.
type HistoryReader interface {
	TaskHistory(ctx context.Context, task lists.TaskName, spans lists.Spans) ([]lists.HistoryPart, error)
}

// Histories shows how a task performed over time.
type Histories struct {
	Tasks HistoryReader
	Clock clock.Clock
}

// GetTaskHistory implements insightv1connect.InsightServiceHandler. A task that was never deployed has a history too;
// that of a task that never ran is empty.
func (h *Histories) GetTaskHistory(ctx context.Context, request *insightv1.GetTaskHistoryRequest) (*insightv1.GetTaskHistoryResponse, error) {
	span, err := spans(h.Clock.Now(), request.GetSince(), 7*24*time.Hour, request.GetBuckets(), 50)
	if err != nil {
		return nil, err
	}
	task := lists.TaskName{Project: request.GetProject(), Domain: request.GetDomain(), Name: request.GetName(), Version: request.GetVersion()}
	parts, err := h.Tasks.TaskHistory(ctx, task, span)
	if err != nil {
		return nil, err
	}
	response := &insightv1.GetTaskHistoryResponse{Buckets: make([]*insightv1.HistoryBucket, span.Count)}
	for i := range response.GetBuckets() {
		response.Buckets[i] = &insightv1.HistoryBucket{From: timestamppb.New(span.From.Add(time.Duration(i) * span.Step))}
	}
	for _, part := range parts {
		bucket := response.GetBuckets()[part.Span]
		bucket.Succeeded, bucket.Failed = uint32(part.Succeeded), uint32(part.Failed) //nolint:gosec // counts
		bucket.Aborted, bucket.Cached = uint32(part.Aborted), uint32(part.Cached)     //nolint:gosec // counts
		if part.P50 != nil {
			bucket.P50, bucket.P90 = durationpb.New(*part.P50), durationpb.New(*part.P90)
		}
	}
	return response, nil
}
