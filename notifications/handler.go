package notifications

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

// handler serves NotificationService.
type handler struct {
	store *store.Store
	clock clock.Clock
	wake  func()
	book  *book
	// deliver makes the tries of tests, at most as many at once as tests has room for.
	deliver *deliverer
	tests   chan struct{}
}

// ListDeliveries implements insightv1connect.NotificationServiceHandler.
func (h *handler) ListDeliveries(ctx context.Context, request *insightv1.ListDeliveriesRequest) (*insightv1.ListDeliveriesResponse, error) {
	var run ident.Run
	switch scope := request.GetScope().(type) {
	case *insightv1.ListDeliveriesRequest_RunId:
		run = ident.RunOf(scope.RunId)
	case *insightv1.ListDeliveriesRequest_ProjectId:
		run = ident.Run{Project: scope.ProjectId.GetName(), Domain: scope.ProjectId.GetDomain()}
	}
	page, next, err := h.store.List(ctx, run, int16(request.GetState()), request.GetLimit(), request.GetToken()) //nolint:gosec // an enum of few values
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListDeliveriesResponse{Token: next}
	for i := range page {
		response.Deliveries = append(response.Deliveries, shown(&page[i]))
	}
	return response, nil
}

// RetryDelivery implements insightv1connect.NotificationServiceHandler.
func (h *handler) RetryDelivery(ctx context.Context, request *insightv1.RetryDeliveryRequest) (*insightv1.RetryDeliveryResponse, error) {
	d, err := h.store.Retry(ctx, ident.RunOf(request.GetRunId()), request.GetDeliveryId(), h.clock.Now())
	if err != nil {
		return nil, err
	}
	h.wake()
	return &insightv1.RetryDeliveryResponse{Delivery: shown(d)}, nil
}

func shown(d *store.Delivery) *insightv1.Delivery {
	one := &insightv1.Delivery{
		Id: d.Key, RunId: &common.RunIdentifier{Project: d.Run.Project, Domain: d.Run.Domain, Name: d.Run.Name}, Action: d.Action,
		Phase: common.ActionPhase(d.Phase), Rule: d.Rule, DeliveryConfigName: d.Delivery, Kind: insightv1.DeliveryKind(d.Kind), Target: d.Target,
		State: insightv1.DeliveryState(d.State), Tries: uint32(d.Tries), LastError: d.LastError, //nolint:gosec // not negative
		CreatedAt: timestamppb.New(d.CreatedAt), EndedAt: stamp(d.EndedAt),
	}
	if d.State == store.Pending {
		one.NextAt = timestamppb.New(d.NextAt)
	}
	return one
}

func stamp(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}
