package store

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// The depth of a queue with a limit is counted in the transaction that adds to the queue, under a lock of the queue,
// so that two writers cannot take the same place. These locks are taken before those of runs, in name order.
const (
	lockQueues = `SELECT count(pg_advisory_xact_lock(hashtextextended('flyte queue ' || name, 0))) FROM unnest($1::text[]) AS name`

	countDepth = `SELECT count(*) FROM (
		SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue = $1
		UNION ALL SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = $1
		UNION ALL SELECT a.id FROM actions a WHERE ` + sqltext.IsHeld + ` AND a.queue = $1
		LIMIT $2) AS w`

	countDefaultDepth = `SELECT count(*) FROM (
		SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue <> ALL($1)
		UNION ALL SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedChild + ` AND a.queue <> ALL($1)
		UNION ALL SELECT a.id FROM actions a WHERE ` + sqltext.IsHeld + ` AND a.queue <> ALL($1)
		LIMIT $2) AS w`
)

// queueDepths adds the depth of the queues with a limit that the batch adds actions to.
func (b *batch) queueDepths(statements *pgx.Batch, names map[string]struct{}) {
	var limited []*queues.Queue
	for name := range names {
		if q := b.queues.Of(name); q.MaxDepth > 0 && !slices.Contains(limited, q) {
			limited = append(limited, q)
		}
	}
	if len(limited) == 0 {
		return
	}
	locks := sqltext.Column(limited, func(q *queues.Queue) string { return q.Name })
	slices.Sort(locks)
	statements.Queue(lockQueues, locks)
	b.depths = make(map[*queues.Queue]int, len(limited))
	for _, q := range limited {
		count := func(row pgx.Row) error {
			var n int
			err := row.Scan(&n)
			b.depths[q] = n
			return err
		}
		if q == b.queues.Default() {
			statements.Queue(countDefaultDepth, b.queues.Others(), q.MaxDepth).QueryRow(count)
		} else {
			statements.Queue(countDepth, q.Name, q.MaxDepth).QueryRow(count)
		}
	}
}

// enter takes a place in the queue for a new action that will wait, or returns an error when the queue is full.
func (b *batch) enter(r, root *row) error {
	q := b.queues.Of(r.Queue)
	if q.MaxDepth == 0 || r.ActionType != schema.ActionTask || r.Phase != state.Queued || b.direct(r, root) {
		return nil
	}
	depth, counted := b.depths[q]
	if !counted {
		return nil // operations that create actions declare the queues they add to
	}
	if depth >= q.MaxDepth {
		return rpc.ResourceExhausted("queue %s is full: %d actions are waiting and its limit is %d; try again later", q.Name, depth, q.MaxDepth)
	}
	b.depths[q]++
	return nil
}

// direct reports whether the transaction that records a new action may admit it: the gate is open, and no limit of
// its run or queue applies. Where clusters are chosen, it must be known what the action asks for. An action that the runs service runs itself takes no place of the installation.
func (b *batch) direct(r, root *row) bool {
	return r.ActionType == schema.ActionTask && r.Hold == schema.HoldNone && root.MaxConcurrency == 0 &&
		(b.open > 0 || r.Runner.InProcess()) && (b.places == nil || r.Asks != nil || !r.Runner.OnCluster()) && b.queues.Of(r.Queue).Direct(r.ParentName == nil)
}
