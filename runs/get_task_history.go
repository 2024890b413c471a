package runs

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// GetTaskHistory implements insightv1connect.InsightServiceHandler. A task that nobody deployed has a history too, and
// one that never ran has an empty one.
func (h *insightHandler) GetTaskHistory(ctx context.Context, request *insightv1.GetTaskHistoryRequest) (*insightv1.GetTaskHistoryResponse, error) {
	spans, err := h.svc.spans(request.GetSince(), 7*24*time.Hour, request.GetBuckets(), 50)
	if err != nil {
		return nil, err
	}
	task := store.TaskName{Project: request.GetProject(), Domain: request.GetDomain(), Name: request.GetName(), Version: request.GetVersion()}
	parts, err := h.svc.lists.TaskHistory(ctx, task, spans)
	if err != nil {
		return nil, err
	}
	response := &insightv1.GetTaskHistoryResponse{Buckets: make([]*insightv1.HistoryBucket, spans.Count)}
	for i := range response.Buckets {
		response.Buckets[i] = &insightv1.HistoryBucket{From: timestamppb.New(spans.From.Add(time.Duration(i) * spans.Step))}
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
