package insight

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// LoadReader reads the load and depth of queues; worklists.QueueReader does.
type LoadReader interface {
	Load(ctx context.Context, scope worklists.LoadScope) (*worklists.Load, error)
	Depths(ctx context.Context) ([]worklists.Depth, error)
}

// QueueLoads lists the queues with their limits, load and depth.
type QueueLoads struct {
	Reader LoadReader
	Queues *queues.Set
}

// ListQueues implements insightv1connect.InsightServiceHandler.
func (l *QueueLoads) ListQueues(ctx context.Context, _ *insightv1.ListQueuesRequest) (*insightv1.ListQueuesResponse, error) {
	load, err := l.Reader.Load(ctx, worklists.LoadScope{All: true})
	if err != nil {
		return nil, err
	}
	depths, err := l.Reader.Depths(ctx)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListQueuesResponse{}
	shown := map[*queues.Queue]*insightv1.Queue{}
	for _, q := range l.Queues.All() {
		shown[q] = &insightv1.Queue{
			Name: q.Name, Cluster: q.RunsIn(), MaxActions: int64(q.MaxActions), MaxRuns: int64(q.MaxRuns), MaxDepth: int64(q.MaxDepth),
			Priority: int32(q.Priority), //nolint:gosec // checked
		}
		response.Queues = append(response.Queues, shown[q])
	}
	// Actions may name a queue that was removed from the configuration. They count in the default queue, which admits
	// them.
	for _, part := range load.Parts {
		q := shown[l.Queues.Of(part.Queue)]
		q.Actions += int64(part.Actions)
		if part.Root {
			q.Runs++
		}
	}
	oldest := map[*insightv1.Queue]time.Time{}
	for _, depth := range depths {
		q := shown[l.Queues.Of(depth.Queue)]
		q.Depth += int64(depth.Waits)
		if at, known := oldest[q]; !known || depth.Oldest.Before(at) {
			oldest[q] = depth.Oldest
			q.OldestWaiting = timestamppb.New(depth.Oldest)
		}
	}
	return response, nil
}
