package runs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/caching"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/timers"
)

// recordTransitions records observations. The outputs of successes that others may reuse are in the cache before
// anybody sees the success.
func (s *Service) recordTransitions(ctx context.Context, transitions []store.Transition) ([]store.Outcome, error) {
	if err := s.publish(ctx, transitions); err != nil {
		return nil, err
	}
	failpoint.Here("record.after-publish")
	return s.writer.RecordTransitions(ctx, transitions)
}

// publish notes in transitions what became of their outputs in the cache.
func (s *Service) publish(ctx context.Context, transitions []store.Transition) error {
	var successes []caching.Success
	var at []int
	for i := range transitions {
		if t := &transitions[i]; t.To.Phase == state.Succeeded {
			successes = append(successes, caching.Success{Action: t.Action, Attempt: t.To.Attempt, OutputURI: t.OutputURI})
			at = append(at, i)
		}
	}
	published, err := s.cache.Publish(ctx, successes)
	if err != nil {
		return err
	}
	for i, p := range published {
		if p.Status == core.CatalogCacheStatus_CACHE_DISABLED {
			continue
		}
		t := &transitions[at[i]]
		t.CacheStatus, t.CacheReason = int16(p.Status), p.Reason //nolint:gosec // an enum of few values
		if t.Event, err = withCacheStatus(t.Event, p.Status); err != nil {
			return err
		}
	}
	return nil
}

func withCacheStatus(body []byte, status core.CatalogCacheStatus) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	event := &workflow.ActionEvent{}
	err := proto.Unmarshal(body, event)
	if err == nil {
		event.CacheStatus = status
		body, err = proto.Marshal(event)
	}
	if err != nil {
		return nil, rpc.Internal(err, "the event cannot be encoded")
	}
	return body, nil
}

// ownEnds publishes the outputs of actions that the engine runs itself before they end.
type ownEnds struct{ svc *Service }

var _ timers.Writer = ownEnds{}

// Wake implements timers.Writer.
func (o ownEnds) Wake(ctx context.Context, due []store.Wake, patience store.Patience) (int, error) {
	var successes []caching.Success
	var at []int
	for i := range due {
		w := &due[i]
		if w.Due == store.DueEnd || w.Start != nil && w.Start.Postpone == 0 && w.Start.Failure == nil && w.Start.Lasts <= 0 {
			successes, at = append(successes, caching.Success{Action: w.Ident()}), append(at, i)
		}
	}
	published, err := o.svc.cache.Publish(ctx, successes)
	if err != nil {
		return 0, err
	}
	for i, p := range published {
		due[at[i]].CacheStatus, due[at[i]].CacheReason = int16(p.Status), p.Reason //nolint:gosec // an enum of few values
	}
	return o.svc.writer.Wake(ctx, due, patience)
}
