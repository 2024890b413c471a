package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// QueueReader reads what admission decides on: the queued task actions and how much is under way.
type QueueReader struct{ pool *pgxpool.Pool }

// NewQueueReader makes a reader on a pool that it does not own.
func NewQueueReader(pool *pgxpool.Pool) *QueueReader { return &QueueReader{pool: pool} }

const (
	// isQueued and isLive are the predicates of the partial indexes.
	isQueued = `a.action_type = 1 AND a.phase = 1 AND a.admitted_at IS NULL AND a.hold = 0`
	isLive   = `a.admitted_at IS NOT NULL AND a.ended_at IS NULL`
	// isLeaf: it waits for no task of its own. The order asks for the index that has the parent.
	isLeaf = `(SELECT c.id FROM actions c
		WHERE c.run_id = a.run_id AND c.parent_name BETWEEN a.name AND a.name AND c.ended_at IS NULL AND c.action_type = 1
		ORDER BY c.parent_name LIMIT 1) IS NULL`
)

// WaitingRun is a run with queued actions.
type WaitingRun struct {
	RunID          int64
	MaxConcurrency int32 // 0 means no limit
}

// Waiting reads up to limit runs with queued actions, oldest first. It hops from run to run, whatever their size.
func (q *QueueReader) Waiting(ctx context.Context, limit int) ([]WaitingRun, error) {
	const query = `
		WITH RECURSIVE waiting AS (
			(SELECT a.run_id FROM actions a WHERE ` + isQueued + ` ORDER BY a.run_id LIMIT 1)
			UNION ALL
			SELECT (SELECT a.run_id FROM actions a WHERE ` + isQueued + ` AND a.run_id > waiting.run_id ORDER BY a.run_id LIMIT 1)
			FROM waiting WHERE waiting.run_id IS NOT NULL
		)
		SELECT r.id, r.max_concurrency
		FROM (SELECT run_id FROM waiting WHERE run_id IS NOT NULL LIMIT $1) w JOIN actions r ON r.id = w.run_id
		ORDER BY r.id`
	var runs []WaitingRun
	err := q.indexed(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, limit)
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[WaitingRun])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read runs that wait: %w", err)
	}
	return runs, nil
}

// Share is how many actions of a run may be admitted now, and how many places it has taken.
type Share struct {
	RunID int64
	Take  int32
	Taken int32
}

// Next reads up to limit queued actions, at most its share of each run: those first whose run would have the fewest
// places, then the oldest. So runs get equal numbers of places, as far as they want them.
func (q *QueueReader) Next(ctx context.Context, shares []Share, limit int) ([]Queued, error) {
	const query = `
		SELECT s.run_id, n.id
		FROM unnest($1::bigint[], $2::integer[], $5::integer[]) AS s (run_id, take, taken)
		CROSS JOIN LATERAL (
			SELECT o.id, row_number() OVER (ORDER BY o.id) AS place
			FROM (SELECT a.id FROM actions a WHERE ` + isQueued + ` AND a.run_id = s.run_id ORDER BY a.id LIMIT $4) o
		) n
		WHERE n.place <= s.take
		ORDER BY s.taken + n.place, n.id LIMIT $3`
	var queued []Queued
	depth := int32(0)
	for _, share := range shares {
		depth = max(depth, share.Take)
	}
	err := q.indexed(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query,
			column(shares, func(s Share) int64 { return s.RunID }), column(shares, func(s Share) int32 { return s.Take }), limit, depth, column(shares, func(s Share) int32 { return s.Taken }))
		if err != nil {
			return err
		}
		queued, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Queued])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	return queued, nil
}

// Leaves counts, for some runs, the live actions that wait for no task of their own.
func (q *QueueReader) Leaves(ctx context.Context, runIDs []int64) (map[int64]int, error) {
	const query = `SELECT a.run_id, count(*) FROM actions a WHERE a.run_id = ANY($1) AND ` + isLive + ` AND ` + isLeaf + ` GROUP BY a.run_id`
	return q.counts(ctx, query, runIDs)
}

// AllLeaves is Leaves for every run that has any.
func (q *QueueReader) AllLeaves(ctx context.Context) (map[int64]int, error) {
	return q.counts(ctx, `SELECT a.run_id, count(*) FROM actions a WHERE `+isLive+` AND `+isLeaf+` GROUP BY a.run_id`)
}

func (q *QueueReader) counts(ctx context.Context, query string, args ...any) (map[int64]int, error) {
	counts := map[int64]int{}
	err := q.indexed(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		var id int64
		var n int
		_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error {
			counts[id] = n
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count live actions of runs: %w", err)
	}
	return counts, nil
}

// LiveCount counts the live set.
func (q *QueueReader) LiveCount(ctx context.Context) (n int, err error) {
	const query = `SELECT count(*) FROM actions a WHERE ` + isLive
	err = q.indexed(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, query).Scan(&n) })
	if err != nil {
		return 0, fmt.Errorf("count live actions: %w", err)
	}
	return n, nil
}

// reading lets the partial indexes of the queue and of the live set look as cheap as they are, and plans each time.
const reading = `SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`

// indexed runs reads that must use the partial indexes, whatever the planner knows of the tables.
func (q *QueueReader) indexed(ctx context.Context, read func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, q.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, reading); err != nil {
			return err
		}
		return read(tx)
	})
}
