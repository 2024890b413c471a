package worklists

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// OnCluster reads a page of the live actions of executors on a cluster, in the order (run, id), after one entry of it. If waiting, it
// leaves out those whose attempt has begun.
func (l *LiveReader) OnCluster(ctx context.Context, cluster string, waiting bool, after schema.Ref, limit int) ([]schema.Ref, error) {
	query := `
		SELECT ` + refColumns + ` FROM actions
		WHERE admitted_at IS NOT NULL AND ended_at IS NULL AND runner = ` + sqltext.Executor + ` AND cluster = $1 AND (run_id, id) > ($3, $4)
			AND (NOT $2 OR phase IN (` + sqltext.Queued + `, ` + sqltext.WaitingForResources + `))
		ORDER BY run_id, id LIMIT $5`
	return l.refs(ctx, query, cluster, waiting, after.RunID, after.ID, limit)
}
