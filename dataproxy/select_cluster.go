package dataproxy

import (
	"context"
	"slices"
	"strings"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster/clusterconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Clusters says which clusters there are.
type Clusters interface {
	Clusters(ctx context.Context) ([]Cluster, error)
}

// Cluster is a cluster with the pools that it is in.
type Cluster struct {
	Name  string
	Pools []string
}

// clusterHandler serves ClusterService.
type clusterHandler struct {
	clusters Clusters // nil knows none
	engine   Engine
}

var _ clusterconnect.ClusterServiceHandler = clusterHandler{}

// SelectCluster implements ClusterService. Every operation goes to the server that was called, whatever cluster runs the work: data,
// secrets and logs of all clusters are served here. An empty endpoint says so without a second connection, whatever name the client
// uses for this server. The name of the cluster is set where only one is possible.
func (h clusterHandler) SelectCluster(ctx context.Context, r *cluster.SelectClusterRequest) (*cluster.SelectClusterResponse, error) {
	if r.GetResource() == nil {
		return nil, rpc.InvalidArgument("resource", "is required")
	}
	if _, known := cluster.SelectClusterRequest_Operation_name[int32(r.GetOperation())]; !known || r.GetOperation() == 0 {
		return nil, rpc.InvalidArgument("operation", "unknown value")
	}
	name, err := h.name(ctx, r)
	return &cluster.SelectClusterResponse{Cluster: name}, err
}

func (h clusterHandler) name(ctx context.Context, r *cluster.SelectClusterRequest) (string, error) {
	var known []Cluster
	if h.clusters != nil {
		var err error
		if known, err = h.clusters.Clusters(ctx); err != nil {
			return "", err
		}
	}
	switch resource := r.GetResource().(type) {
	case *cluster.SelectClusterRequest_ActionId:
		return h.ofAction(ctx, resource.ActionId)
	case *cluster.SelectClusterRequest_ActionAttemptId:
		return h.ofAction(ctx, resource.ActionAttemptId.GetActionId())
	case *cluster.SelectClusterRequest_ClusterId:
		name := resource.ClusterId.GetName()
		if len(known) > 0 && !slices.ContainsFunc(known, func(c Cluster) bool { return c.Name == name }) {
			return "", rpc.NotFound("there is no cluster %s", name)
		}
		return name, nil
	case *cluster.SelectClusterRequest_ClusterPoolId:
		return ofPool(known, resource.ClusterPoolId.GetName())
	}
	return sole(known), nil
}

// ofAction is the cluster of an action; empty if it has none yet. An action that does not exist is the error of the operation that
// follows, which has better words.
func (h clusterHandler) ofAction(ctx context.Context, id *common.ActionIdentifier) (string, error) {
	if id.GetRun() == nil {
		return "", nil
	}
	at, err := h.engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: id})
	if rpc.IsNotFound(err) {
		return "", nil
	}
	return at.GetCluster(), err
}

// ofPool is the only cluster of a pool; empty if it has several. The pool named default has all clusters, unless some say that they are
// in it. As long as no cluster is in a pool, every name is a label without effect, as it is in the specs of runs.
func ofPool(known []Cluster, pool string) (string, error) {
	var of []Cluster
	pools := []string{"default"}
	for _, c := range known {
		pools = append(pools, c.Pools...)
		if slices.Contains(c.Pools, pool) {
			of = append(of, c)
		}
	}
	if len(of) == 0 && (pool == "default" || len(pools) == 1) {
		of = known
	}
	if len(of) == 0 && len(known) > 0 {
		slices.Sort(pools)
		return "", rpc.InvalidArgument("cluster_pool_id.name", "there is no pool %s of clusters; pools: %s", pool, strings.Join(slices.Compact(pools), ", "))
	}
	return sole(of), nil
}

func sole(clusters []Cluster) string {
	if len(clusters) == 1 {
		return clusters[0].Name
	}
	return ""
}
