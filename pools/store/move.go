package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// outdated are the rows of actions that are offered to another pool now, or again after they were released.
const outdated = `
	FROM pool_actions a JOIN unnest($1::bigint[], $2::bigint[], $3::integer[]) AS o(uid, pool_id, attempt) ON a.uid = o.uid
	WHERE a.pool_id <> o.pool_id AND a.attempt <= o.attempt OR a.attempt < o.attempt AND a.stop = ` + sqlReleased

// move forgets what is stored of actions that another pool runs now, since their cluster was lost or takes no new work. A worker that
// still has one stops it, and nothing that it says of it counts.
func move(ctx context.Context, tx pgx.Tx, offers []Offered, pools []int64) error {
	var uids, to []int64
	var attempts []int32
	for i := range offers {
		if offers[i].Attempt > 1 { // the first attempt of an action was in no other pool
			uids, to, attempts = append(uids, offers[i].UID), append(to, pools[i]), append(attempts, offers[i].Attempt)
		}
	}
	if len(uids) == 0 {
		return nil
	}
	told, err := stopped(ctx, tx, nil, `SELECT a.pool_id, coalesce(a.worker_id, '') `+outdated+` FOR UPDATE OF a`, uids, to, attempts)
	if err != nil || len(told) == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, `
		WITH old AS (SELECT a.uid `+outdated+`),
		gone AS (DELETE FROM pool_actions a USING old WHERE a.uid = old.uid RETURNING a.pool_id, a.worker_id, a.warm_hit, a.slow_start AS slow),
		`+countLeft, uids, to, attempts); err != nil {
		return err
	}
	for _, c := range told {
		if c.Worker == "" {
			c.To = ForKeeper
		}
		if err := notify(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}
