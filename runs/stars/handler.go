// Package stars serves StarService: the runs and tasks that a person has marked with a star.
package stars

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/stars"
)

// Store keeps stars; stars.Store is one.
type Store interface {
	List(ctx context.Context, subject string) ([]stars.Star, error)
	Add(ctx context.Context, subject string, of stars.Target, now time.Time) error
	Remove(ctx context.Context, subject string, of stars.Target) error
}

// Handler serves StarService. Both fields are required. In an open installation all callers are the same, and share their stars. A star
// may be of what does not exist: to refuse it would say what exists in places that the caller may not see.
type Handler struct {
	Store Store
	Clock clock.Clock
}

var _ insightv1connect.StarServiceHandler = (*Handler)(nil)

// ListStars implements insightv1connect.StarServiceHandler.
func (h *Handler) ListStars(ctx context.Context, _ *insightv1.ListStarsRequest) (*insightv1.ListStarsResponse, error) {
	found, err := h.Store.List(ctx, caller.Subject(ctx))
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListStarsResponse{}
	for i := range found {
		star := &insightv1.Star{Target: targetMessage(found[i].Target), CreatedAt: timestamppb.New(found[i].CreatedAt)}
		if run := found[i].Run; run != nil {
			if star.Run, err = protomap.Run(&run.Action, run.Labels); err != nil {
				return nil, err
			}
		}
		response.Stars = append(response.Stars, star)
	}
	return response, nil
}

// AddStar implements insightv1connect.StarServiceHandler.
func (h *Handler) AddStar(ctx context.Context, r *insightv1.AddStarRequest) (*insightv1.AddStarResponse, error) {
	of, err := targetOf(r.GetTarget())
	if err != nil {
		return nil, err
	}
	return &insightv1.AddStarResponse{}, h.Store.Add(ctx, caller.Subject(ctx), of, h.Clock.Now())
}

// RemoveStar implements insightv1connect.StarServiceHandler.
func (h *Handler) RemoveStar(ctx context.Context, r *insightv1.RemoveStarRequest) (*insightv1.RemoveStarResponse, error) {
	of, err := targetOf(r.GetTarget())
	if err != nil {
		return nil, err
	}
	return &insightv1.RemoveStarResponse{}, h.Store.Remove(ctx, caller.Subject(ctx), of)
}

func targetOf(given *insightv1.StarTarget) (stars.Target, error) {
	place := schema.Scope{Project: given.GetProject(), Domain: given.GetDomain()}
	switch {
	case place.Project == "":
		return stars.Target{}, rpc.InvalidArgument("target.project", "is required")
	case place.Domain == "":
		return stars.Target{}, rpc.InvalidArgument("target.domain", "is required")
	case given.GetRun() != "":
		return stars.Target{Scope: place, Kind: stars.Run, Name: given.GetRun()}, nil
	case given.GetTask() != "":
		return stars.Target{Scope: place, Kind: stars.Task, Name: given.GetTask()}, nil
	}
	return stars.Target{}, rpc.InvalidArgument("target", "names neither a run nor a task")
}

func targetMessage(of stars.Target) *insightv1.StarTarget {
	message := &insightv1.StarTarget{Project: of.Project, Domain: of.Domain}
	if of.Kind == stars.Run {
		message.Target = &insightv1.StarTarget_Run{Run: of.Name}
	} else {
		message.Target = &insightv1.StarTarget_Task{Task: of.Name}
	}
	return message
}
