package apps

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/apps/store"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// The lengths of pages for clients that name none.
const (
	defaultRevisions = 20
	defaultEvents    = 50
)

// ListRevisions implements insightv1connect.AppInsightServiceHandler.
func (h *handler) ListRevisions(ctx context.Context, r *insightv1.ListRevisionsRequest) (*insightv1.ListRevisionsResponse, error) {
	limit := orDefault(r.GetLimit(), defaultRevisions)
	before, err := listquery.Number(r.GetToken())
	if err != nil {
		return nil, err
	}
	a, err := h.store.Get(ctx, keyOf(r.GetAppId()))
	if err != nil {
		return nil, err
	}
	found, err := h.store.Revisions(ctx, a.ID, before, limit+1)
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListRevisionsResponse{}
	found, answer.Token = listquery.NumberPage(found, limit, func(row store.Revision) int64 { return row.Revision })
	for _, row := range found {
		revision, err := revisionMessage(&row)
		if err != nil {
			return nil, err
		}
		answer.Revisions = append(answer.Revisions, revision)
	}
	return answer, nil
}

func revisionMessage(row *store.Revision) (*insightv1.AppRevision, error) {
	spec, err := decodeSpec(row.Spec)
	if err != nil {
		return nil, err
	}
	who, err := identity(row.CreatedBy)
	if err != nil {
		return nil, err
	}
	return &insightv1.AppRevision{
		Revision: uint64(row.Revision), Spec: spec, CreatedAt: timestamppb.New(row.CreatedAt), CreatedBy: who, Reason: row.Reason, //nolint:gosec // counts from 1
		State: insightv1.AppRevisionState(row.State), Message: row.Message, Restores: uint64(row.Restores), //nolint:gosec // counts from 1
	}, nil
}

// ListAppEvents implements insightv1connect.AppInsightServiceHandler.
func (h *handler) ListAppEvents(ctx context.Context, r *insightv1.ListAppEventsRequest) (*insightv1.ListAppEventsResponse, error) {
	limit := orDefault(r.GetLimit(), defaultEvents)
	before, err := listquery.Number(r.GetToken())
	if err != nil {
		return nil, err
	}
	a, err := h.store.Get(ctx, keyOf(r.GetAppId()))
	if err != nil {
		return nil, err
	}
	found, err := h.store.Events(ctx, a.ID, before, limit+1)
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListAppEventsResponse{}
	found, answer.Token = listquery.NumberPage(found, limit, func(row store.Event) int64 { return row.Seq })
	for _, row := range found {
		actor, err := identity(row.Actor)
		if err != nil {
			return nil, err
		}
		answer.Events = append(answer.Events, &insightv1.AppEvent{
			Seq: row.Seq, Time: timestamppb.New(row.Time), Revision: uint64(row.Revision), Actor: actor, Message: row.Message, //nolint:gosec // counts from 1
			Status: app.Status_DeploymentStatus(row.Status), Substate: app.Status_Substate(row.Substate),
		})
	}
	return answer, nil
}

func orDefault(asked uint32, standard int) int {
	if asked == 0 {
		return standard
	}
	return int(asked)
}

// RollBack implements insightv1connect.AppInsightServiceHandler. The desired state stays as it is.
func (h *handler) RollBack(ctx context.Context, r *insightv1.RollBackRequest) (*insightv1.RollBackResponse, error) {
	a, err := h.store.Get(ctx, keyOf(r.GetAppId()))
	if err != nil {
		return nil, err
	}
	number := int64(r.GetRevision()) //nolint:gosec // a number that no app has is not found
	specs, err := h.store.Named(ctx, []int64{a.ID}, []int64{number})
	if err != nil {
		return nil, err
	}
	body, ok := specs[[2]int64{a.ID, number}]
	if !ok {
		return nil, rpc.NotFound("app %s has no revision %d", a.Name, r.GetRevision())
	}
	spec, err := decodeSpec(body)
	if err != nil {
		return nil, err
	}
	// An old spec is checked against the rules of today: what is refused now would not start either.
	if err := h.config.check("revision", spec); err != nil {
		return nil, err
	}
	rolledBack, err := h.update(ctx, r.GetAppId(), func(locked *store.App) (declaration, error) {
		// The spec was read before the lock. The name may belong to a new app since.
		if locked.UID != a.UID {
			return declaration{}, rpc.Aborted("app %s was deleted and created again", a.Name)
		}
		spec.DesiredState = app.Spec_DesiredState(locked.DesiredState)
		return declaration{spec: spec, reason: r.GetReason(), restores: number}, nil
	})
	return &insightv1.RollBackResponse{App: rolledBack}, err
}
