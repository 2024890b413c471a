package store

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// The two settings of a transaction that leave the planner nothing but loops over indexes (batch_load.go says why). With
// planning, each statement is planned anew. With keptPlanning, which is the writer's, a connection keeps its plans.
//
// Planning costs Postgres more than running a small batch does, since actions has 36 indexes. But a plan that was made when
// the table was small may read whole runs when it has grown, so the writer renews its plans: see keptPlans.
const (
	planning     = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`
	keptPlanning = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`

	loopsOnly = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY[
		'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_sort',
		'enable_incremental_sort', 'jit']) AS name`

	discardPlans = `DISCARD PLANS`
)

const (
	// maxPlanUses is the most transactions that plans are kept for.
	maxPlanUses = 1024
	// maxPlanAge is the longest that they are kept, since other connections and replicas write too.
	maxPlanAge = 5 * time.Second
)

// keptPlans tracks the age of one connection's plans. The writer keeps plans for about as many transactions as the
// connection has run before, so while a table grows from nothing, its plans were made for at least half its size.
type keptPlans struct {
	uses, limit int
	made        time.Time
}

// keptPlansOf returns the record of a connection's plans.
func keptPlansOf(conn *pgx.Conn) *keptPlans {
	const key = "store.plans"
	data := conn.PgConn().CustomData()
	p, ok := data[key].(*keptPlans)
	if !ok {
		p = &keptPlans{}
		data[key] = p
	}
	return p
}

// renew counts a transaction, and reports whether it must discard the plans first.
func (p *keptPlans) renew(now time.Time) bool {
	p.uses++
	age := now.Sub(p.made)
	if p.uses <= p.limit && age >= 0 && age < maxPlanAge {
		return false
	}
	p.uses, p.limit, p.made = 0, min(max(1, 2*p.limit), maxPlanUses), now
	return true
}
