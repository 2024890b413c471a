package runs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// GetActivity implements insightv1connect.InsightServiceHandler. A place whose only runs under way are older is there
// too, with empty buckets.
func (h *insightHandler) GetActivity(ctx context.Context, request *insightv1.GetActivityRequest) (*insightv1.GetActivityResponse, error) {
	spans, err := h.svc.spans(request.GetSince(), 24*time.Hour, request.GetBuckets(), 24)
	if err != nil {
		return nil, err
	}
	parts, unfinished, err := h.svc.lists.Activity(ctx, spans)
	if err != nil {
		return nil, err
	}
	places := map[store.Scope]*insightv1.Activity{}
	place := func(project, domain string, last time.Time) *insightv1.Activity {
		scope := store.Scope{Project: project, Domain: domain}
		activity := places[scope]
		if activity == nil {
			activity = &insightv1.Activity{Project: project, Domain: domain, Buckets: make([]*insightv1.ActivityBucket, spans.Count)}
			for i := range activity.Buckets {
				activity.Buckets[i] = &insightv1.ActivityBucket{}
			}
			places[scope] = activity
		}
		if activity.GetLastRunAt() == nil || last.After(activity.GetLastRunAt().AsTime()) {
			activity.LastRunAt = timestamppb.New(last)
		}
		return activity
	}
	for _, part := range parts {
		bucket := place(part.Project, part.Domain, part.LastRunAt).GetBuckets()[part.Span]
		bucket.Succeeded, bucket.Failed = uint32(part.Succeeded), uint32(part.Failed)     //nolint:gosec // counts
		bucket.Aborted, bucket.Unfinished = uint32(part.Aborted), uint32(part.Unfinished) //nolint:gosec // counts
	}
	for _, part := range unfinished {
		activity := place(part.Project, part.Domain, part.LastRunAt)
		activity.Running, activity.Paused = uint32(part.Running), uint32(part.Paused) //nolint:gosec // counts
	}
	response := &insightv1.GetActivityResponse{}
	for _, activity := range places {
		response.Activities = append(response.Activities, activity)
	}
	slices.SortFunc(response.Activities, func(a, b *insightv1.Activity) int {
		return cmp.Or(cmp.Compare(a.GetProject(), b.GetProject()), cmp.Compare(a.GetDomain(), b.GetDomain()))
	})
	return response, nil
}

// spans cuts the time from since, or from a while ago, up to now into buckets of equal length.
func (s *Service) spans(since *timestamppb.Timestamp, while time.Duration, buckets, standard uint32) (store.Spans, error) {
	now := s.clock.Now()
	from := now.Add(-while)
	if since != nil {
		if !since.IsValid() {
			return store.Spans{}, rpc.InvalidArgument("since", "is no time")
		}
		if from = since.AsTime(); !from.Before(now) {
			return store.Spans{}, rpc.InvalidArgument("since", "must lie in the past, got %s", from.Format(time.RFC3339))
		}
		if now.Sub(from) > longestSpan {
			return store.Spans{}, rpc.InvalidArgument("since", "must lie at most %d days in the past, got %s", longestSpan/(24*time.Hour), from.Format(time.RFC3339))
		}
	}
	count := cmp.Or(buckets, standard)
	return store.Spans{From: from, Step: max(now.Sub(from)/time.Duration(count), 1), Count: int(count)}, nil
}

// longestSpan bounds how far back is counted.
const longestSpan = 366 * 24 * time.Hour
