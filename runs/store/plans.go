package store

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// The two settings of a transaction that leave the planner nothing but loops over indexes (batch_load.go says why). With
// planning, each statement is planned anew. With keptPlanning, which is the writer's, a connection keeps its plans.
//
// Planning costs Postgres more than running a small batch does, since actions has 36 indexes. But a plan that was made when
// the table was small may read whole runs when it has grown, so the writer renews its plans: see plans.
const (
	planning     = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`
	keptPlanning = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`

	loopsOnly = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY[
		'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_sort',
		'enable_incremental_sort', 'jit']) AS name`

	discardPlans = `DISCARD PLANS`
)

const (
	// maxPlanUses is for how many transactions plans are kept at most.
	maxPlanUses = 1024
	// maxPlanAge is how long they are kept at most, since other connections and replicas write too.
	maxPlanAge = 5 * time.Second
)

// plans decides how long the writer's plans are kept on one connection: for about as many transactions as the connection
// had before, so while tables grow from nothing, plans are made for at least half of their size.
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
