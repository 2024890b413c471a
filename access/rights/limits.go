package rights

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
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
	return response, nil
}
