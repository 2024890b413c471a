package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// ClusterWork is what a project has on a cluster.
type ClusterWork struct {
	Cluster, Project string
	// Live are the attempts that run there or are about to, Pending those of them that have not begun.
	Live, Pending int
}

// OnClusters counts the live actions of each cluster by project, those of the largest projects first.
func (l *LiveReader) OnClusters(ctx context.Context) ([]ClusterWork, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT cluster, project, count(*), count(*) FILTER (WHERE phase IN (`+sqltext.Queued+`, `+sqltext.WaitingForResources+`))
		FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL AND runner IN `+sqltext.OnCluster+`
		GROUP BY cluster, project ORDER BY cluster, count(*) DESC, project`)
	if err != nil {
		return nil, fmt.Errorf("count the work of clusters: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ClusterWork])
	if err != nil {
		return nil, fmt.Errorf("count the work of clusters: %w", err)
	}
	return found, nil
}

// QueuedForClusters counts the actions that wait for admission, by the cluster of their queue.
func (l *LiveReader) QueuedForClusters(ctx context.Context) (map[string]int, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT cluster, count(*) FROM actions
		WHERE action_type = `+sqltext.Task+` AND phase = `+sqltext.Queued+` AND admitted_at IS NULL AND hold = `+sqltext.NoHold+` AND runner IN `+sqltext.OnCluster+`
		GROUP BY cluster`)
	if err != nil {
		return nil, fmt.Errorf("count what waits for clusters: %w", err)
	}
	found := map[string]int{}
	var cluster string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&cluster, &n}, func() error { found[cluster] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count what waits for clusters: %w", err)
	}
	return found, nil
}
