package clusters

import (
	"cmp"
	"context"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

var eventKinds = map[store.EventKind]clustersv1.ClusterEventKind{
	store.EventAdded:     clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_ADDED,
	store.EventConnected: clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_CONNECTED,
	store.EventReturned:  clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_RETURNED,
	store.EventAway:      clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_AWAY,
	store.EventLost:      clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_LOST,
	store.EventVersion:   clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_VERSION,
	store.EventCordoned:  clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_CORDONED,
	store.EventDraining:  clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_DRAINING,
	store.EventReady:     clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_READY,
	store.EventChanged:   clustersv1.ClusterEventKind_CLUSTER_EVENT_KIND_CHANGED,
}

// ListClusterEvents implements clustersv1connect.ClusterRegistryServiceHandler. The token of a page is the last id of the page before.
func (h *handler) ListClusterEvents(ctx context.Context, request *clustersv1.ListClusterEventsRequest) (*clustersv1.ListClusterEventsResponse, error) {
	before := int64(0)
	if token := request.GetToken(); token != "" {
		var err error
		if before, err = strconv.ParseInt(token, 10, 64); err != nil || before <= 0 {
			return nil, rpc.InvalidArgument("token", "invalid page token")
		}
	}
	if _, err := h.registry.Get(ctx, request.GetName()); err != nil {
		return nil, err
	}
	limit := int(cmp.Or(request.GetLimit(), 50))
	found, err := h.registry.Events(ctx, request.GetName(), before, limit+1)
	if err != nil {
		return nil, err
	}
	response := &clustersv1.ListClusterEventsResponse{}
	if len(found) > limit {
		found = found[:limit]
		response.Token = strconv.FormatInt(found[limit-1].ID, 10)
	}
	for _, one := range found {
		response.Events = append(response.Events, &clustersv1.ClusterEvent{
			Kind: eventKinds[one.Kind], At: timestamppb.New(one.At), By: one.Subject, Note: one.Note,
		})
	}
	return response, nil
}
