package worklists

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Placed selects live actions of a cluster.
type Placed struct {
	Cluster string
	// Waiting leaves out those whose attempt has begun.
	Waiting bool
	// Pooled leaves out those that no worker of a reusable environment runs.
	Pooled bool
}

// OnCluster reads a page of the live actions that run on a cluster, in the order (run, id), after one entry of it.
func (l *LiveReader) OnCluster(ctx context.Context, of Placed, after schema.Ref, limit int) ([]schema.Ref, error) {
	query := `
		SELECT ` + refColumns + ` FROM actions
		WHERE ` + liveIn(of.Cluster, "$1") + ` AND (run_id, id) > ($3, $4)
			AND (NOT $2 OR phase IN (` + sqltext.Queued + `, ` + sqltext.WaitingForResources + `)) AND (NOT $6 OR runner = ` + sqltext.Pool + `)
		ORDER BY run_id, id LIMIT $5`
	return l.refs(ctx, query, of.Cluster, of.Waiting, after.RunID, after.ID, limit, of.Pooled)
}
