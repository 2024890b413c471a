package triggers

import (
	"context"
	"math"

	"google.golang.org/protobuf/types/known/timestamppb"

	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// GetTriggerDetails implements triggerconnect.TriggerServiceHandler.
func (h *handler) GetTriggerDetails(ctx context.Context, r *triggerpb.GetTriggerDetailsRequest) (*triggerpb.GetTriggerDetailsResponse, error) {
	t, err := h.store.Get(ctx, taskOf(r.GetName()), r.GetName().GetName(), false)
	if err != nil {
		return nil, err
	}
	answer, err := details(t)
	return &triggerpb.GetTriggerDetailsResponse{Trigger: answer}, err
}

// GetTriggerRevisionDetails implements triggerconnect.TriggerServiceHandler. Revisions outlive their trigger.
func (h *handler) GetTriggerRevisionDetails(ctx context.Context, r *triggerpb.GetTriggerRevisionDetailsRequest) (*triggerpb.GetTriggerRevisionDetailsResponse, error) {
	name := r.GetId().GetName()
	t, err := h.store.Get(ctx, taskOf(name), name.GetName(), true)
	if err != nil {
		return nil, err
	}
	if r.GetId().GetRevision() > math.MaxInt64 {
		return nil, rpc.InvalidArgument("id.revision", "is out of range")
	}
	revision, err := h.store.Revision(ctx, t, int64(r.GetId().GetRevision())) //nolint:gosec // checked
	if err != nil {
		return nil, err
	}
	answer, err := details(&revision.Trigger)
	return &triggerpb.GetTriggerRevisionDetailsResponse{Trigger: answer}, err
}

// GetTriggerRevisionHistory implements triggerconnect.TriggerServiceHandler.
func (h *handler) GetTriggerRevisionHistory(ctx context.Context, r *triggerpb.GetTriggerRevisionHistoryRequest) (*triggerpb.GetTriggerRevisionHistoryResponse, error) {
	t, err := h.store.Get(ctx, taskOf(r.GetName()), r.GetName().GetName(), true)
	if err != nil {
		return nil, err
	}
	revisions, token, err := h.store.Revisions(ctx, t, r.GetRequest())
	if err != nil {
		return nil, err
	}
	answer := &triggerpb.GetTriggerRevisionHistoryResponse{Token: token}
	for i := range revisions {
		revision := &revisions[i]
		who, err := metadata(&revision.Trigger)
		if err != nil {
			return nil, err
		}
		answer.Triggers = append(answer.Triggers, &triggerpb.TriggerRevision{
			Id: identifier(t, revision.Revision), Metadata: who, Status: status(&revision.Trigger),
			Action: triggerpb.TriggerRevisionAction(revision.Action), CreatedAt: timestamppb.New(revision.CreatedAt),
		})
	}
	return answer, nil
}

// ListTriggers implements triggerconnect.TriggerServiceHandler.
func (h *handler) ListTriggers(ctx context.Context, r *triggerpb.ListTriggersRequest) (*triggerpb.ListTriggersResponse, error) {
	var scope store.Scope
	switch by := r.GetScopeBy().(type) {
	case *triggerpb.ListTriggersRequest_ProjectId:
		scope.Project, scope.Domain = by.ProjectId.GetName(), by.ProjectId.GetDomain()
	case *triggerpb.ListTriggersRequest_TaskId:
		id := by.TaskId
		scope = store.Scope{Project: id.GetProject(), Domain: id.GetDomain(), TaskName: id.GetName(), TaskVersion: id.GetVersion()}
	case *triggerpb.ListTriggersRequest_TaskName:
		name := by.TaskName
		scope = store.Scope{Project: name.GetProject(), Domain: name.GetDomain(), TaskName: name.GetName()}
	}
	triggers, token, err := h.store.List(ctx, scope, r.GetRequest())
	if err != nil {
		return nil, err
	}
	answer := &triggerpb.ListTriggersResponse{Token: token}
	for _, t := range triggers {
		who, err := metadata(t)
		if err != nil {
			return nil, err
		}
		automated, err := automation(t)
		if err != nil {
			return nil, err
		}
		answer.Triggers = append(answer.Triggers, &triggerpb.Trigger{
			Id: identifier(t, t.Revision), Metadata: who, Status: status(t), Active: t.Active, AutomationSpec: automated,
		})
	}
	return answer, nil
}
