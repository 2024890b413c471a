package insight

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/conditions"
	"github.com/flyte-binary/flyte-binary/runs/store/assignees"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// PausedReader reads pages of paused actions; lists.Reader does.
type PausedReader interface {
	ListPaused(ctx context.Context, scope schema.Scope, assignee string, limit uint32, token string) (page []lists.PausedAction, next string, total int64, err error)
}

// AssigneeReader reads who is asked to answer conditions, by the ids of their actions; assignees.Store does.
type AssigneeReader interface {
	Of(ctx context.Context, actions []int64) (map[int64]assignees.Assignee, error)
}

// Paused lists the actions that wait for a signal.
type Paused struct {
	Actions   PausedReader
	Assignees AssigneeReader
}

// ListPausedActions implements insightv1connect.InsightServiceHandler. Conditions wait from their creation on.
func (p *Paused) ListPausedActions(ctx context.Context, request *insightv1.ListPausedActionsRequest) (*insightv1.ListPausedActionsResponse, error) {
	scope := schema.Scope{Project: request.GetProject(), Domain: request.GetDomain()}
	assignee := ""
	if request.GetMine() {
		assignee = caller.Subject(ctx)
	}
	page, next, total, err := p.Actions.ListPaused(ctx, scope, assignee, request.GetLimit(), request.GetToken())
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListPausedActionsResponse{Token: next, Total: uint32(min(total, math.MaxUint32))} //nolint:gosec // bounded
	ids := make([]int64, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	asked, err := p.Assignees.Of(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, row := range page {
		condition := &workflow.ConditionAction{}
		if err := proto.Unmarshal(row.Condition, condition); err != nil {
			return nil, rpc.DataLoss(err, "the stored condition %s cannot be read", row.Action)
		}
		paused := &insightv1.PausedAction{
			ActionId: row.Action.Proto(), Parent: row.Parent, Condition: condition, Since: timestamppb.New(row.CreatedAt),
		}
		if row.DeadlineAt != nil {
			paused.Until = timestamppb.New(*row.DeadlineAt)
		}
		if one, ok := asked[row.ID]; ok {
			paused.Assignee = conditions.Message(one)
		}
		response.Actions = append(response.Actions, paused)
	}
	return response, nil
}
