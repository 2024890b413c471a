package connectors

import (
	"context"

	"github.com/flyte-binary/flyte-binary/attempts/mirror"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// mirror keeps the jobs what the runs service says.
func (s *registry) mirror(ctx context.Context) error {
	follows := mirror.Mirror{
		Engine: s.deps.Engine, Runner: enginev1.Runner_RUNNER_CONNECTOR, Rows: s,
		Stream: stream.Client[enginev1.WatchAssignmentsResponse]{MaxSilence: s.config.MaxSilence, Clock: s.deps.Clock},
	}
	return follows.Work(ctx)
}

// Unreleased implements mirror.Rows.
func (s *registry) Unreleased(ctx context.Context) ([]int64, error) { return s.store.Unreleased(ctx) }

// Offer implements mirror.Rows. An attempt that has begun without a row is begun again: its connector gets the same key and so
// finds its job.
func (s *registry) Offer(ctx context.Context, assigned []*enginev1.Assignment) error {
	jobs := make([]store.Job, len(assigned))
	for i, a := range assigned {
		template := a.GetTask().GetSpec().GetTaskTemplate()
		jobs[i] = with(&store.Job{
			UID: a.GetRef().GetUid(), TaskType: template.GetType(), TypeVersion: template.GetTaskTypeVersion(),
			Action: ident.ActionOf(a.GetRef().GetId()), Priority: a.GetPriority(),
		}, verdict.CountOf(a))
		if s.known.Len() < maxKnown { // the oldest are next
			s.known.Add(jobs[i].UID, a)
		}
	}
	_, err := s.store.Offer(ctx, jobs)
	return err
}

// Release implements mirror.Rows. Most of these actions are those whose end this service has just recorded, and their rows are gone.
func (s *registry) Release(ctx context.Context, uids []int64) error {
	for _, uid := range uids {
		s.known.Remove(uid)
	}
	return s.store.Release(ctx, uids...)
}

// with is the job with another attempt.
func with(j *store.Job, count verdict.Count) store.Job {
	next := *j
	next.Attempt, next.UserFailures, next.SystemFailures = count.Attempt, count.UserFailures, count.SystemFailures
	return next
}
