package worklists

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// QueueReader reads what admission decides on: the queued task actions and the current load.
type QueueReader struct{ pool *pgxpool.Pool }

// NewQueueReader returns a reader on a pool that the caller owns.
func NewQueueReader(pool *pgxpool.Pool) *QueueReader { return &QueueReader{pool: pool} }

// The orders that only the partial indexes have.
const (
	childrenInOrder = ` ORDER BY a.queue, a.runner, (-a.priority), a.run_id, a.id `
	rootsInOrder    = ` ORDER BY a.queue, a.runner, (-a.priority), a.id `
)

// Waiting is a group of queued actions that differ only in age: children of one run, or one root.
type Waiting struct {
	Queue    string // as stored, which may not be the name of a queue
	Root     bool
	Runner   schema.Runner
	Priority int32
	RunID    int64
	RunLimit int32 // the run's largest number of concurrent actions; 0 means no limit
	// IDs are the oldest actions of the group, oldest first. Backlog fills them in for roots, Members for children.
	IDs []int64
	// More says that the group has more actions than IDs.
	More bool
}

// Backlog is the queued actions and the size of the live set.
type Backlog struct {
	Waiting []Waiting
	// Live counts the live actions that run on clusters.
	Live int
	// Truncated says that more actions wait than were read.
	Truncated bool
}

const (
	// The backlog of each queue is read separately, so that a long queue does not hide others.
	waitingRoots = `
		WITH RECURSIVE names AS (
			(SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedRoot + rootsInOrder + `LIMIT 1)
			UNION ALL
			SELECT (SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue > names.queue` + rootsInOrder + `LIMIT 1)
			FROM names WHERE names.queue IS NOT NULL
		)
		SELECT names.queue, w.runner, w.priority, w.id
		FROM names CROSS JOIN (VALUES ` + sqltext.Admitted + `) AS by (runner)
		CROSS JOIN LATERAL (
			SELECT a.runner, a.priority, a.id FROM actions a
			WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue = names.queue AND a.runner = by.runner` + rootsInOrder + `LIMIT $1) AS w
		WHERE names.queue IS NOT NULL`

	// It skips from run to run, however many actions of each wait.
	waitingChildren = `
		WITH RECURSIVE names AS (
			(SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedChild + childrenInOrder + `LIMIT 1)
			UNION ALL
			SELECT (SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedChild + ` AND a.queue > names.queue` + childrenInOrder + `LIMIT 1)
			FROM names WHERE names.queue IS NOT NULL
		)
		SELECT names.queue, w.runner, -w.behind, w.run_id, r.max_concurrency
		FROM names CROSS JOIN LATERAL (
			WITH RECURSIVE hops AS (
				(SELECT a.runner, -a.priority AS behind, a.run_id FROM actions a
				WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = names.queue` + childrenInOrder + `LIMIT 1)
				UNION ALL
				SELECT next.* FROM hops CROSS JOIN LATERAL (
					SELECT a.runner, -a.priority AS behind, a.run_id FROM actions a
					WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = names.queue
						AND (a.runner, -a.priority, a.run_id) > (hops.runner, hops.behind, hops.run_id)` + childrenInOrder + `LIMIT 1) AS next
			)
			SELECT * FROM hops LIMIT $1) AS w
		JOIN actions r ON r.id = w.run_id AND r.ended_at IS NULL -- the children of a finished run are about to be aborted
		WHERE names.queue IS NOT NULL`

	liveCount = `SELECT count(*) FROM actions a WHERE ` + sqltext.IsLive + ` AND a.runner IN ` + sqltext.OnCluster
)

// Backlog reads, for each queue, up to limit waiting roots and up to limit runs with waiting children, in the order
// of priority and age, in one round trip.
func (q *QueueReader) Backlog(ctx context.Context, limit int) (*Backlog, error) {
	b := &Backlog{}
	err := q.send(ctx, func(statements *pgx.Batch) {
		perQueue := map[string]int{}
		statements.Queue(waitingRoots, limit).Query(func(rows pgx.Rows) error {
			w := Waiting{Root: true}
			_, err := pgx.ForEachRow(rows, []any{&w.Queue, &w.Runner, &w.Priority, &w.RunID}, func() error {
				root := w
				root.IDs = []int64{w.RunID}
				b.Waiting = append(b.Waiting, root)
				perQueue[w.Queue]++
				b.Truncated = b.Truncated || perQueue[w.Queue] >= limit
				return nil
			})
			return err
		})
		statements.Queue(waitingChildren, limit).Query(func(rows pgx.Rows) error {
			clear(perQueue)
			var w Waiting
			_, err := pgx.ForEachRow(rows, []any{&w.Queue, &w.Runner, &w.Priority, &w.RunID, &w.RunLimit}, func() error {
				b.Waiting = append(b.Waiting, w)
				perQueue[w.Queue]++
				b.Truncated = b.Truncated || perQueue[w.Queue] >= limit
				return nil
			})
			return err
		})
		statements.Queue(liveCount).QueryRow(func(row pgx.Row) error { return row.Scan(&b.Live) })
	})
	if err != nil {
		return nil, fmt.Errorf("read queued actions: %w", err)
	}
	return b, nil
}

// members reads the oldest actions of groups of children.
const members = `
	SELECT g.n, w.id
	FROM unnest($1::text[], $2::smallint[], $3::integer[], $4::bigint[]) WITH ORDINALITY AS g (queue, runner, behind, run_id, n)
	CROSS JOIN LATERAL (
		SELECT a.id FROM actions a
		WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = g.queue
			AND (a.runner, -a.priority, a.run_id, a.id) > (g.runner, g.behind, g.run_id, 0)
			AND (a.runner, -a.priority, a.run_id, a.id) < (g.runner, g.behind, g.run_id, $6)` + childrenInOrder + `LIMIT $5) AS w
	ORDER BY g.n, w.id`

// Members reads the oldest actions of groups of children, at most depth of each, in one round trip.
func (q *QueueReader) Members(ctx context.Context, groups []*Waiting, depth int) error {
	if len(groups) == 0 {
		return nil
	}
	err := q.send(ctx, func(statements *pgx.Batch) {
		statements.Queue(members,
			sqltext.Column(groups, func(g *Waiting) string { return g.Queue }), sqltext.Column(groups, func(g *Waiting) int16 { return int16(g.Runner) }),
			sqltext.Column(groups, func(g *Waiting) int32 { return -g.Priority }), sqltext.Column(groups, func(g *Waiting) int64 { return g.RunID }),
			depth, int64(math.MaxInt64),
		).Query(func(rows pgx.Rows) error {
			for _, g := range groups {
				g.IDs, g.More = nil, false
			}
			var n, id int64
			_, err := pgx.ForEachRow(rows, []any{&n, &id}, func() error {
				g := groups[n-1]
				g.IDs = append(g.IDs, id)
				g.More = len(g.IDs) >= depth
				return nil
			})
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("read queued actions: %w", err)
	}
	return nil
}

// send reads in one round trip and one transaction whose statements must use the partial indexes, whatever statistics
// the planner has.
func (q *QueueReader) send(ctx context.Context, queue func(*pgx.Batch)) error {
	var statements pgx.Batch
	statements.Queue(sqltext.Planning)
	queue(&statements)
	return q.pool.SendBatch(ctx, &statements).Close()
}
