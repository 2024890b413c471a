package store

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// planning precedes statements that are planned anew each time; keptPlanning those of the writer, which keep their plans.
//
// Planning costs more than running a small batch does: each statement on actions weighs 36 indexes. But plans that were
// made when the table was small may read a whole run later, so the writer renews them, see plans.
const (
	planning     = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`
	keptPlanning = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`

	loopsOnly = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY[
		'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_sort', 'jit']) AS name`

	discardPlans = `DISCARD PLANS`
)

const (
	// maxPlanUses bounds the transactions for which plans are kept. A tenth of a percent of them makes new ones.
	maxPlanUses = 1024
	// maxPlanAge bounds the time, since others write too.
	maxPlanAge = 5 * time.Second
)

// plans decides how long the writer's plans are kept on one connection: for as many transactions as the connection had
// before them. While a table grows from nothing, its plans are so never made for less than about half its size.
type plans struct {
	uses, limit int
	made        time.Time
}

// plansOf returns what is known of the plans of a connection.
func plansOf(conn *pgx.Conn) *plans {
	const key = "store.plans"
	data := conn.PgConn().CustomData()
	p, ok := data[key].(*plans)
	if !ok {
		p = &plans{}
		data[key] = p
	}
	return p
}

// renew counts a transaction. It reports whether the plans have to be discarded in it.
func (p *plans) renew(now time.Time) bool {
	p.uses++
	age := now.Sub(p.made)
	if p.uses <= p.limit && age >= 0 && age < maxPlanAge {
		return false
	}
	p.uses, p.limit, p.made = 0, min(max(1, 2*p.limit), maxPlanUses), now
	return true
}
