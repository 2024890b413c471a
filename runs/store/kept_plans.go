package store

import (
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	discardPlans = `DISCARD PLANS`

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
