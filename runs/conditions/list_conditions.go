// Package conditions serves ConditionService: the conditions of runs for the people who answer them.
package conditions

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/change"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// Reader reads runs and their conditions; lists.Reader does.
type Reader interface {
	RunBirth(ctx context.Context, run ident.Run) (lists.RunBirth, error)
	Conditions(ctx context.Context, runID int64, action string, limit uint32, token string) (page []lists.Condition, next string, err error)
}

// Handler serves ConditionService. All fields but People are required.
type Handler struct {
	*change.Signaller
	Reader    Reader
	Assignees Assignees
	People    People // may be nil
	Clock     clock.Clock
	// Assigned counts calls of AssignCondition, by whether they ask no one in particular, and their error.
	Assigned func(ctx context.Context, removed bool, err error)
}

var _ insightv1connect.ConditionServiceHandler = (*Handler)(nil)

// ListConditions implements insightv1connect.ConditionServiceHandler.
func (h *Handler) ListConditions(ctx context.Context, r *insightv1.ListConditionsRequest) (*insightv1.ListConditionsResponse, error) {
	birth, err := h.Reader.RunBirth(ctx, ident.RunOf(r.GetRunId()))
	if err != nil {
		return nil, err
	}
	page, next, err := h.Reader.Conditions(ctx, birth.RunID, r.GetAction(), r.GetLimit(), r.GetToken())
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	asked, err := h.Assignees.Of(ctx, ids)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListConditionsResponse{Token: next}
	for _, row := range page {
		one := &insightv1.Condition{Action: row.Action, Name: row.Name, Phase: common.ActionPhase(row.Phase), Since: timestamppb.New(row.CreatedAt)}
		if one.Answer, err = answerOf(&row); err != nil {
			return nil, err
		}
		if a, ok := asked[row.ID]; ok {
			one.Assignee = Message(a)
		}
		response.Conditions = append(response.Conditions, one)
	}
	return response, nil
}

func answerOf(row *lists.Condition) (*insightv1.ConditionAnswer, error) {
	if len(row.Signal) == 0 {
		return nil, nil //nolint:nilnil // it has no answer
	}
	var stored enginev1.StoredSignal
	if err := proto.Unmarshal(row.Signal, &stored); err != nil {
		return nil, rpc.DataLoss(err, "the stored value of %s cannot be read", row.Action)
	}
	answer := &insightv1.ConditionAnswer{Value: stored.GetOutput(), AnsweredBy: stored.GetSignalledBy(), Comment: stored.GetComment()}
	if row.EndedAt != nil && !row.Recovered {
		answer.AnsweredAt = timestamppb.New(*row.EndedAt)
	}
	return answer, nil
}
