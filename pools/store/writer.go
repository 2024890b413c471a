package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/work/batch"
	"github.com/flyte-binary/flyte-binary/pools/size"
)

// maxChanges bounds the changes of one transaction.
const maxChanges = 500

// Writer changes which worker has which attempt. Changes that come while one commit is in flight share the next: one round
// trip and one flush of the write-ahead log, however many workers there are.
type Writer struct {
	*batch.Batcher[change, []Action]
	db *pgxpool.Pool
}

// NewWriter returns a writer on a connection pool that the caller owns. Changes wait until Start.
func NewWriter(db *pgxpool.Pool) *Writer {
	w := &Writer{db: db}
	w.Batcher = batch.New(batch.Config[change, []Action]{MaxWeight: maxChanges, Flush: w.flush})
	return w
}

// Claimant is a session of a worker that takes what is free. The zero value takes nothing.
type Claimant struct {
	Pool            int64
	Worker, Session string
}

// change is one change. An attempt may be left, put back or begun, and the claimant may take others.
type change struct {
	action Action
	leave  bool
	retry  *retry
	begun  *begun
	claim  Claimant
}

type retry struct {
	next  Action
	pause time.Duration
}

type begun struct {
	at    time.Time
	limit time.Duration
}

// Claim gives a worker waiting actions while it has free slots, and returns those that are new. Only the newest session of a
// worker with a lease gets any; others get none.
func (w *Writer) Claim(ctx context.Context, c Claimant) ([]Action, error) {
	return w.Submit(ctx, change{claim: c})
}

// Done forgets an attempt of a worker and its action, which has ended. It is not an error if someone else did. The claimant
// takes what the slot is free for.
func (w *Writer) Done(ctx context.Context, a *Action, c Claimant) ([]Action, error) {
	return w.Submit(ctx, change{action: *a, leave: true, claim: c})
}

// Retry puts an action back that waits for another attempt, or forgets it if it was released. It is not an error if someone
// else did.
func (w *Writer) Retry(ctx context.Context, a *Action, next Action, pause time.Duration, c Claimant) ([]Action, error) {
	return w.Submit(ctx, change{action: *a, retry: &retry{next, pause}, claim: c})
}

// Begun records that the process of an attempt began now, for the time limit of the attempt; 0 means without limit. at is the
// worker's own time.
func (w *Writer) Begun(ctx context.Context, a *Action, at time.Time, limit time.Duration) error {
	_, err := w.Submit(ctx, change{action: *a, begun: &begun{at, limit}})
	return err
}

// flush commits changes. All statements go to the database at once, as one transaction.
func (w *Writer) flush(ctx context.Context, items []*batch.Item[change, []Action]) {
	claimed, err := w.commit(ctx, items)
	for _, item := range items {
		c := item.Value.claim.Worker
		item.Answer(claimed[c], err)
		delete(claimed, c) // the first to ask for a worker learns of all
	}
}

func (w *Writer) commit(ctx context.Context, items []*batch.Item[change, []Action]) (map[string][]Action, error) {
	claimed := map[string][]Action{}
	p := plan{claims: map[string]Claimant{}}
	for _, item := range items {
		p.add(item.Value)
	}
	statements := &pgx.Batch{}
	p.queue(statements, func(worker string, found []Action) { claimed[worker] = found })
	if err := w.db.SendBatch(ctx, statements).Close(); err != nil {
		return nil, fmt.Errorf("record the attempts of workers: %w", err)
	}
	return claimed, nil
}

// plan is what one transaction does.
type plan struct {
	pools   map[int64]bool
	left    columns
	begun   columns
	at      []time.Time
	warm    []bool
	slow    []string // of left
	begins  []string // slow, of begun
	limits  []time.Duration
	limited map[int64]bool
	retries []change
	claims  map[string]Claimant
}

// columns are attempts, as arrays for one statement.
type columns struct {
	uids     []int64
	attempts []int32
	workers  []string
}

func (c *columns) add(a *Action) {
	c.uids, c.attempts, c.workers = append(c.uids, a.UID), append(c.attempts, a.Attempt), append(c.workers, a.Worker)
}

func (p *plan) add(c change) {
	if p.pools == nil {
		p.pools, p.limited = map[int64]bool{}, map[int64]bool{}
	}
	if c.action.Pool != 0 {
		p.pools[c.action.Pool] = true
	}
	switch {
	case c.leave:
		p.left.add(&c.action)
		p.slow = append(p.slow, c.action.Start.Slow)
	case c.retry != nil:
		p.retries = append(p.retries, c)
	case c.begun != nil:
		p.begun.add(&c.action)
		p.at, p.limits = append(p.at, c.begun.at), append(p.limits, c.begun.limit)
		p.warm, p.begins = append(p.warm, c.action.Start.Warm), append(p.begins, c.action.Start.Slow)
		if c.begun.limit > 0 {
			p.limited[c.action.Pool] = true
		}
	}
	if c.claim.Worker != "" {
		p.pools[c.claim.Pool] = true
		p.claims[c.claim.Worker] = c.claim
	}
}

// queue adds the statements of the plan. What is left comes before what is claimed, since it frees slots.
func (p *plan) queue(to *pgx.Batch, found func(worker string, claimed []Action)) {
	to.Queue(lockPools, slices.Sorted(maps.Keys(p.pools)))
	if len(p.left.uids) > 0 {
		to.Queue(leave, p.left.uids, p.left.attempts, p.left.workers, p.slow)
	}
	for _, c := range p.retries {
		to.Queue(putBack, c.action.UID, c.action.Attempt, c.action.Worker, c.retry.next.Attempt, c.retry.next.UserFailures, c.retry.next.SystemFailures, c.retry.pause)
	}
	if len(p.begun.uids) > 0 {
		to.Queue(begin, p.begun.uids, p.begun.attempts, p.begun.workers, p.at, p.warm, p.limits, p.begins)
	}
	for _, worker := range slices.Sorted(maps.Keys(p.claims)) {
		c := p.claims[worker]
		to.Queue(claim, c.Worker, c.Session, c.Pool).Query(func(rows pgx.Rows) error {
			claimed, err := pgx.CollectRows(rows, scanAction)
			slices.SortFunc(claimed, func(a, b Action) int { return size.Before(a.turn(), b.turn()) })
			found(worker, claimed)
			return err
		})
	}
	p.announce(to)
}

// announce tells the keeper of workers that have become idle, of pauses and of time limits. Sessions that wait for a slot are notified by
// no one: the session that freed it has claimed already.
func (p *plan) announce(to *pgx.Batch) {
	due := maps.Clone(p.limited)
	for _, c := range p.retries {
		due[c.action.Pool] = true
	}
	for _, id := range slices.Sorted(maps.Keys(due)) {
		to.Queue(`SELECT pg_notify($1, $2)`, Channel, string(ForKeeper)+strconv.FormatInt(id, 10))
	}
	if len(p.left.uids) > 0 {
		to.Queue(idle, p.left.workers, Channel, string(ForKeeper))
	}
}

func (a *Action) turn() size.Turn {
	return size.Turn{Nested: a.Nested, Priority: a.Priority, Queued: a.QueuedAt, UID: a.UID}
}

// lockPools comes first in every transaction that changes more than one row, so that two of them cannot wait for each other.
const lockPools = `SELECT FROM worker_pools WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`

const leave = `
	WITH gone AS (
		DELETE FROM pool_actions a USING unnest($1::bigint[], $2::integer[], $3::text[], $4::text[]) AS e(uid, attempt, worker, slow)
		WHERE a.uid = e.uid AND a.attempt = e.attempt AND a.worker_id IS NOT DISTINCT FROM nullif(e.worker, '')
		RETURNING a.pool_id, a.worker_id, a.warm_hit, e.slow),
	` + countLeft

// countLeft counts the rows of gone for their pools and workers.
const countLeft = `
	pools AS (
		UPDATE worker_pools p SET worked_at = clock_timestamp(), attempts = p.attempts + g.attempts, warm_hits = p.warm_hits + g.hits,
			slow_starts = p.slow_starts + g.slows, slow_start = coalesce(g.slow, p.slow_start)
		FROM (SELECT pool_id, count(worker_id) AS attempts, count(*) FILTER (WHERE warm_hit) AS hits,
			count(*) FILTER (WHERE slow <> '') AS slows, max(slow) FILTER (WHERE slow <> '') AS slow FROM gone GROUP BY pool_id) g WHERE p.id = g.pool_id)
	UPDATE pool_workers w SET idle_since = clock_timestamp(), given = w.given + g.attempts
	FROM (SELECT worker_id, count(*) AS attempts FROM gone GROUP BY worker_id) g WHERE w.id = g.worker_id`

const putBack = `
	WITH dropped AS (
		DELETE FROM pool_actions WHERE uid = $1 AND attempt = $2 AND worker_id IS NOT DISTINCT FROM nullif($3, '') AND stop = ` + sqlReleased + `
		RETURNING pool_id, worker_id, warm_hit, slow_start AS slow),
	before AS (
		SELECT uid, pool_id, worker_id, warm_hit, slow_start FROM pool_actions
		WHERE uid = $1 AND attempt = $2 AND worker_id IS NOT DISTINCT FROM nullif($3, '') AND stop <> ` + sqlReleased + ` FOR UPDATE),
	kept AS (
		UPDATE pool_actions a SET attempt = $4, user_failures = $5, system_failures = $6, not_before = clock_timestamp() + $7::interval,
			worker_id = NULL, claimed_at = NULL, warm_hit = false, begun_at = NULL, run_until = NULL, warm = false, slow_start = '', stop = ` + sqlNoStop + `, stop_at = NULL,
			offered_at = clock_timestamp() + $7::interval
		FROM before b WHERE a.uid = b.uid RETURNING b.pool_id, b.worker_id, b.warm_hit, b.slow_start AS slow),
	gone AS (SELECT * FROM dropped UNION ALL SELECT * FROM kept),
	` + countLeft

const begin = `
	UPDATE pool_actions a SET begun_at = b.begun_at, warm = b.warm, slow_start = b.slow,
		run_until = CASE WHEN b.runs_for > interval '0' THEN clock_timestamp() + b.runs_for END
	FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::timestamptz[], $5::boolean[], $6::interval[], $7::text[])
		AS b(uid, attempt, worker, begun_at, warm, runs_for, slow)
	WHERE a.uid = b.uid AND a.attempt = b.attempt AND a.worker_id = b.worker AND a.begun_at IS NULL`

// claim takes actions in the order of pool.Before.
const claim = `
	WITH w AS MATERIALIZED (
		SELECT w.id, w.reserve, w.connected_at, w.given,
			least(w.slots, p.concurrency) - (SELECT count(*) FROM pool_actions h WHERE h.worker_id = w.id) AS free
		FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
		WHERE w.id = $1 AND w.session = $2 AND w.pool_id = $3 AND w.state = ` + sqlLive + ` AND w.lease_until > clock_timestamp() FOR UPDATE OF w),
	next AS MATERIALIZED (
		SELECT a.uid FROM pool_actions a
		WHERE a.pool_id = $3 AND a.worker_id IS NULL AND (a.not_before IS NULL OR a.not_before <= clock_timestamp())
			AND (a.nested OR NOT coalesce((SELECT reserve FROM w), false))
		ORDER BY a.nested DESC, a.priority DESC, a.queued_at, a.uid
		LIMIT greatest(0, coalesce((SELECT free FROM w), 0)) FOR UPDATE SKIP LOCKED)
	UPDATE pool_actions a SET worker_id = w.id, claimed_at = clock_timestamp(), warm_hit = w.given > 0 OR coalesce(w.connected_at <= a.offered_at, false)
	FROM next, w WHERE a.uid = next.uid RETURNING ` + actionColumns

const idle = `
	SELECT pg_notify($2, $3 || w.pool_id) FROM pool_workers w
	WHERE w.id = ANY($1) AND NOT EXISTS (SELECT FROM pool_actions a WHERE a.worker_id = w.id) GROUP BY w.pool_id`

// lock locks pools, as lockPools.
func lock(ctx context.Context, tx pgx.Tx, ids ...int64) error {
	_, err := tx.Exec(ctx, lockPools, ids)
	return err
}

// lockOf locks the pools that a query names, and returns them.
func lockOf(ctx context.Context, tx pgx.Tx, query string, args ...any) ([]int64, error) {
	ids, err := pools(ctx, tx, query, args...)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	slices.SortFunc(ids, cmp.Compare)
	return ids, lock(ctx, tx, ids...)
}
