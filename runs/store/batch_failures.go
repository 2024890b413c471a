package store

import (
	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const insertFailures = `INSERT INTO uncounted_failures (action_id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING`

// saveFailures lists the tasks that failed, to be counted. It costs nothing where none did.
func (b *batch) saveFailures(statements *pgx.Batch) {
	var failed []*row
	for _, run := range b.order {
		for _, r := range run.changed {
			if (r.Phase == state.Failed || r.Phase == state.TimedOut) && r.wasPhase != r.Phase && r.ActionType == schema.ActionTask {
				failed = append(failed, r)
			}
		}
	}
	if len(failed) > 0 {
		statements.Queue(insertFailures, sqltext.Column(failed, func(r *row) int64 { return r.ID }))
	}
}
