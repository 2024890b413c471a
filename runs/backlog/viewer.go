package backlog

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// Viewer serves what other services ask EngineService about limits.
type Viewer struct{ Backlog *Backlog }

// GetBacklog implements enginev1connect.EngineServiceHandler.
func (v *Viewer) GetBacklog(ctx context.Context, request *enginev1.GetBacklogRequest) (*enginev1.GetBacklogResponse, error) {
	uses, err := v.Backlog.Uses(ctx, request.GetProject(), request.GetCaller())
	if err != nil {
		return nil, err
	}
	response := &enginev1.GetBacklogResponse{}
	for _, use := range uses {
		response.Limits = append(response.Limits, &enginev1.BacklogLimit{
			Things: use.Things, Project: use.Project, Setting: use.Setting, Most: int64(use.Most), Used: int64(use.Used),
		})
	}
	return response, nil
}
