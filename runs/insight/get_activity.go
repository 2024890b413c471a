package insight

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// ActivityReader counts runs by place and time; lists.Reader does.
type ActivityReader interface {
	Activity(ctx context.Context, spans lists.Spans) ([]lists.ActivityPart, []lists.UnfinishedRuns, error)
}

// Activities counts the runs of all projects and domains over time.
type Activities struct {
	Runs  ActivityReader
	Clock clock.Clock
}

// GetActivity implements insightv1connect.InsightServiceHandler. It also lists a project and domain whose only
// unfinished runs are older, with empty buckets.
func (a *Activities) GetActivity(ctx context.Context, request *insightv1.GetActivityRequest) (*insightv1.GetActivityResponse, error) {
	span, err := spans(a.Clock.Now(), request.GetSince(), 24*time.Hour, request.GetBuckets(), 24)
	if err != nil {
		return nil, err
	}
	parts, unfinished, err := a.Runs.Activity(ctx, span)
	if err != nil {
		return nil, err
	}
	places := map[schema.Scope]*insightv1.Activity{}
	place := func(project, domain string, last time.Time) *insightv1.Activity {
		scope := schema.Scope{Project: project, Domain: domain}
		activity := places[scope]
		if activity == nil {
			activity = &insightv1.Activity{Project: project, Domain: domain, Buckets: make([]*insightv1.ActivityBucket, span.Count)}
			for i := range activity.GetBuckets() {
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
	slices.SortFunc(response.GetActivities(), func(a, b *insightv1.Activity) int {
		return cmp.Or(cmp.Compare(a.GetProject(), b.GetProject()), cmp.Compare(a.GetDomain(), b.GetDomain()))
	})
	return response, nil
}

// spans cuts the time from since, or from a while ago, up to now into buckets of equal length. A bucket has at least a
// nanosecond, since since may be just before now.
func spans(now time.Time, since *timestamppb.Timestamp, while time.Duration, buckets, standard uint32) (lists.Spans, error) {
	from := now.Add(-while)
	if since != nil {
		if !since.IsValid() {
			return lists.Spans{}, rpc.InvalidArgument("since", "is not a valid timestamp")
		}
		if from = since.AsTime(); !from.Before(now) {
			return lists.Spans{}, rpc.InvalidArgument("since", "must be in the past, got %s", from.Format(time.RFC3339))
		}
		if now.Sub(from) > longestSpan {
			return lists.Spans{}, rpc.InvalidArgument("since", "must be at most %d days in the past, got %s", longestSpan/(24*time.Hour), from.Format(time.RFC3339))
		}
	}
	count := cmp.Or(buckets, standard)
	return lists.Spans{From: from, Step: max(now.Sub(from)/time.Duration(count), 1), Count: int(count)}, nil
}

// longestSpan bounds how far back is counted.
const longestSpan = 366 * 24 * time.Hour
