package lists

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// clusterField is the field by which runs are filtered by the cluster of their first action.
const clusterField = "cluster"

// nameCluster repeats what a filter by cluster implies, since the index of clusters leaves out the one that is usually alone: the
// planner knows the value of the filter too late to see it.
func nameCluster(q *listquery.Query, filters []*common.Filter) {
	for _, filter := range filters {
		named := filter.GetFunction() == common.Filter_EQUAL || filter.GetFunction() == common.Filter_VALUE_IN
		if filter.GetField() == clusterField && named && !slices.ContainsFunc(filter.GetValues(), withoutIndex) {
			q.Where("a.cluster <> '' AND a.cluster <> '" + ident.DefaultCluster + "'")
			return
		}
	}
}

func withoutIndex(cluster string) bool { return cluster == "" || cluster == ident.DefaultCluster }

// RunClusters reads the clusters of the first actions of runs, by the names of the runs. It leaves out runs that do not exist and those
// that are in no cluster.
func (r *Reader) RunClusters(ctx context.Context, project, domain string, runs []string) (map[string]string, error) {
	rows, err := r.pool.Query(ctx, `SELECT run_name, cluster FROM actions
		WHERE project = $1 AND domain = $2 AND run_name = ANY($3) AND parent_name IS NULL AND cluster <> ''`, project, domain, runs)
	if err != nil {
		return nil, fmt.Errorf("read the clusters of runs: %w", err)
	}
	found := make(map[string]string, len(runs))
	var run, cluster string
	if _, err := pgx.ForEachRow(rows, []any{&run, &cluster}, func() error {
		found[run] = cluster
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the clusters of runs: %w", err)
	}
	return found, nil
}
