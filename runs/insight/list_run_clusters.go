package insight

import (
	"context"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

// RunClusterReader reads the clusters of runs; lists.Reader does.
type RunClusterReader interface {
	RunClusters(ctx context.Context, project, domain string, runs []string) (map[string]string, error)
}

// RunClusters says in which clusters runs are.
type RunClusters struct {
	Runs   RunClusterReader
	Places ClusterPlaces
}

// ListRunClusters implements insightv1connect.InsightServiceHandler.
func (c *RunClusters) ListRunClusters(ctx context.Context, request *insightv1.ListRunClustersRequest) (*insightv1.ListRunClustersResponse, error) {
	place := request.GetProjectId()
	found, err := c.Runs.RunClusters(ctx, place.GetName(), place.GetDomain(), request.GetRuns())
	if err != nil {
		return nil, err
	}
	return &insightv1.ListRunClustersResponse{Clusters: found, Several: len(c.Places.Clusters()) > 1}, nil
}
