package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// MaxAhead is how far Ahead counts.
const MaxAhead = 10_000

// Ahead counts, up to MaxAhead, the queued actions of a queue that come first (higher priority, or equal priority and
// older) and the live actions that an executor runs. For the default queue, others names all other queues and the
// name is ignored.
func (q *QueueReader) Ahead(ctx context.Context, queue string, others []string, a *schema.Action) (ahead, live int, err error) {
	const count = `SELECT count(*) FROM (
		SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedRoot + ` AND (-a.priority, a.id) < ($2::integer, $3::bigint) AND %[1]s
		UNION ALL
		SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedChild + ` AND (-a.priority, a.id) < ($2::integer, $3::bigint) AND %[1]s
		LIMIT $4) AS w`
	query, argument := fmt.Sprintf(count, `a.queue = $1`), any(queue)
	if others != nil {
		query, argument = fmt.Sprintf(count, `a.queue <> ALL($1)`), others
	}
	err = q.send(ctx, func(statements *pgx.Batch) {
		statements.Queue(query, argument, -a.Priority, a.ID, MaxAhead).QueryRow(func(row pgx.Row) error { return row.Scan(&ahead) })
		statements.Queue(liveCount).QueryRow(func(row pgx.Row) error { return row.Scan(&live) })
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count the actions ahead: %w", err)
	}
	return ahead, live, nil
}
