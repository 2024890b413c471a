package rights

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// GetLimits implements AccessServiceHandler. Everyone may ask about themselves, and about the projects that they see.
func (h *Handler) GetLimits(ctx context.Context, request *accessv1.GetLimitsRequest) (*accessv1.GetLimitsResponse, error) {
	identity, project := authz.IdentityFrom(ctx), request.GetProject()
	if project != "" && !h.config.Open {
		switch sees, err := h.Policy.Touches(ctx, identity, "run.view", authz.Place{Project: project}); {
		case err != nil:
			return nil, err
		case !sees:
			return nil, authz.Hidden("project %s does not exist, or you may not see it", project)
		}
	}
	response := &accessv1.GetLimitsResponse{}
	for _, use := range h.Limits.Uses(identity, project) {
		limit := &accessv1.Limit{
			Things: use.Things, Project: use.Project, Setting: use.Setting, Most: int64(use.Most), Burst: int64(use.Burst), Left: int64(use.Left), Each: use.Each,
		}
		if use.Per > 0 {
			limit.Per = durationpb.New(use.Per)
		}
		response.Limits = append(response.Limits, limit)
	}
	backlog, err := h.backlog(ctx, identity, project)
	if err != nil {
		return nil, err
	}
	response.Limits = append(response.Limits, backlog...)
	slices.SortStableFunc(response.GetLimits(), func(a, b *accessv1.Limit) int { return cmp.Compare(a.GetProject(), b.GetProject()) }) // those of the caller first
	return response, nil
}

// backlog are the limits of what the caller and a project have under way, and of what the project has stored.
func (h *Handler) backlog(ctx context.Context, identity authz.Identity, project string) (limits []*accessv1.Limit, err error) {
	request := &enginev1.GetBacklogRequest{Project: project}
	if identity.Kind == authz.User || identity.Kind == authz.Key {
		request.Caller = identity.Subject
	}
	if h.Backlog == nil || request.GetCaller() == "" && project == "" {
		return nil, nil
	}
	answer, err := h.Backlog.GetBacklog(authz.AsService(ctx, "access"), request)
	if err != nil {
		return nil, rpc.Unavailable(err, "the limits of unfinished actions cannot be read; try again")
	}
	for _, one := range answer.GetLimits() {
		limits = append(limits, &accessv1.Limit{
			Things: one.GetThings(), Project: one.GetProject(), Setting: one.GetSetting(), Most: one.GetMost(), Burst: one.GetMost(),
			Left: one.GetMost() - one.GetUsed(),
		})
	}
	if project == "" {
		return limits, nil
	}
	stored, err := h.Backlog.GetStored(authz.AsService(ctx, "access"), &enginev1.GetStoredRequest{Project: project})
	if err != nil {
		return nil, rpc.Unavailable(err, "the limit of stored bytes cannot be read; try again")
	}
	return append(limits, &accessv1.Limit{
		Things: "stored bytes", Project: project, Setting: stored.GetSetting(), Most: stored.GetMost(), Burst: stored.GetMost(),
		Left: max(0, stored.GetMost()-stored.GetUsed()), Used: stored.GetUsed(), MeasuredAt: stored.GetMeasuredAt(),
	}), nil
}
