package dataproxy

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster/clusterconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// clusterHandler serves ClusterService for an installation that is one cluster.
type clusterHandler struct{}

var _ clusterconnect.ClusterServiceHandler = clusterHandler{}

// SelectCluster implements ClusterService: every operation goes to the server that was called. An empty endpoint says
// so without a second connection, whatever name the client uses for this server.
func (clusterHandler) SelectCluster(_ context.Context, r *cluster.SelectClusterRequest) (*cluster.SelectClusterResponse, error) {
	if r.GetResource() == nil {
		return nil, rpc.InvalidArgument("resource", "is required")
	}
	if _, known := cluster.SelectClusterRequest_Operation_name[int32(r.GetOperation())]; !known || r.GetOperation() == 0 {
		return nil, rpc.InvalidArgument("operation", "unknown value")
	}
	return &cluster.SelectClusterResponse{}, nil
}
