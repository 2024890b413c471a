package rights

import (
	"cmp"
	"context"
	"slices"
	"time"

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
	uploaded, err := h.uploaded(ctx, identity, project)
	if err != nil {
		return nil, err
	}
	response.Limits = append(response.Limits, uploaded...)
	slices.SortStableFunc(response.GetLimits(), func(a, b *accessv1.Limit) int { return cmp.Compare(a.GetProject(), b.GetProject()) }) // those of the caller first
	return response, nil
}

// backlog are the limits of what the caller and a project have under way, and of what they have stored.
func (h *Handler) backlog(ctx context.Context, identity authz.Identity, project string) (limits []*accessv1.Limit, err error) {
	request := &enginev1.GetBacklogRequest{Project: project, Caller: named(identity)}
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
	return h.stored(ctx, limits, request)
}

// named is the subject of a caller who has limits of its own; empty for others.
func named(identity authz.Identity) string {
	if identity.Kind == authz.User || identity.Kind == authz.Key {
		return identity.Subject
	}
	return ""
}

// uploaded are the limits of what the caller and a project upload in a day.
func (h *Handler) uploaded(ctx context.Context, identity authz.Identity, project string) (limits []*accessv1.Limit, err error) {
	for _, one := range []*enginev1.GetUploadedRequest{{Caller: named(identity)}, {Project: project}} {
		if h.Uploads == nil || one.GetCaller() == "" && one.GetProject() == "" {
			continue
		}
		uploaded, err := h.Uploads.GetUploaded(authz.AsService(ctx, "access"), one)
		if err != nil {
			return nil, rpc.Unavailable(err, "the limits of uploaded bytes cannot be read; try again")
		}
		limits = append(limits, &accessv1.Limit{
			Things: "uploaded bytes", Project: one.GetProject(), Setting: uploaded.GetSetting(), Most: uploaded.GetMost(), Burst: uploaded.GetMost(),
			Left: max(0, uploaded.GetMost()-uploaded.GetUsed()), Used: uploaded.GetUsed(), Per: durationpb.New(24 * time.Hour),
		})
	}
	return limits, nil
}

// stored adds the limits of what the caller and a project have in the object store.
func (h *Handler) stored(ctx context.Context, limits []*accessv1.Limit, of *enginev1.GetBacklogRequest) ([]*accessv1.Limit, error) {
	for _, one := range []*enginev1.GetStoredRequest{{Caller: of.GetCaller()}, {Project: of.GetProject()}} {
		if one.GetCaller() == "" && one.GetProject() == "" {
			continue
		}
		stored, err := h.Backlog.GetStored(authz.AsService(ctx, "access"), one)
		if err != nil {
			return nil, rpc.Unavailable(err, "the limits of stored bytes cannot be read; try again")
		}
		limits = append(limits, &accessv1.Limit{
			Things: "stored bytes", Project: one.GetProject(), Setting: stored.GetSetting(), Most: stored.GetMost(), Burst: stored.GetMost(),
			Left: max(0, stored.GetMost()-stored.GetUsed()), Used: stored.GetUsed(), MeasuredAt: stored.GetMeasuredAt(),
		})
	}
	return limits, nil
}
