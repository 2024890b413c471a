package runs

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// ListQueues implements insightv1connect.InsightServiceHandler.
func (h *insightHandler) ListQueues(ctx context.Context, _ *insightv1.ListQueuesRequest) (*insightv1.ListQueuesResponse, error) {
	s := h.svc
	load, err := s.queue.Load(ctx, store.LoadScope{All: true})
	if err != nil {
		return nil, err
	}
	depths, err := s.queue.Depths(ctx)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListQueuesResponse{}
	shown := map[*queues.Queue]*insightv1.Queue{}
	for _, q := range s.queues.All() {
		shown[q] = &insightv1.Queue{
			Name: q.Name, MaxActions: int64(q.MaxActions), MaxRuns: int64(q.MaxRuns), MaxDepth: int64(q.MaxDepth),
			Priority: int32(q.Priority), //nolint:gosec // checked
		}
		response.Queues = append(response.Queues, shown[q])
	}
	for _, part := range load.Parts {
		q := shown[s.queues.Of(part.Queue)]
		q.Actions += int64(part.Actions)
		if part.Root {
			q.Runs++
		}
	}
	oldest := map[*insightv1.Queue]time.Time{}
	for _, depth := range depths {
		q := shown[s.queues.Of(depth.Queue)]
		q.Depth += int64(depth.Waits)
		if at, known := oldest[q]; !known || depth.Oldest.Before(at) {
			oldest[q] = depth.Oldest
			q.OldestWaiting = timestamppb.New(depth.Oldest)
		}
	}
	return response, nil
}
