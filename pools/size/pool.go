// Package size decides about pools of workers: which pool an action belongs to, how many workers a pool should have, and
// which waiting action gets the next free slot. It is pure: callers bring the time and the state.
package size

import (
	"cmp"
	"slices"
	"time"
)

// Pool is what Decide needs to know of a pool.
type Pool struct {
	Policy Policy
	// Waiting is how many actions wait for a slot and could begin now.
	Waiting int
	// LastWork is when the pool last had an action, waiting or running.
	LastWork time.Time
	// Workers are those that take work, or will when they have started. Those that drain are left out.
	Workers []Worker
}

// Worker is what Decide needs to know of a worker.
type Worker struct {
	ID string
	// Started says that it has connected.
	Started bool
	// Slots is how many actions it runs at once; until it has connected, the concurrency of the policy.
	Slots int
	// Busy is how many of its slots are taken.
	Busy int
	// Blocked is how many of its slots are held by actions with descendants that wait for a slot of the same pool.
	Blocked int
	// Since is when it became idle, or was created.
	Since time.Time
	// Reserve says that it takes only actions that a running action waits for.
	Reserve bool
}

// blocked reports whether the worker can do nothing until descendants of what it runs get slots elsewhere.
func (w Worker) blocked() bool { return w.Slots > 0 && w.Blocked >= w.Slots }

// Decision says how to change the workers of a pool.
type Decision struct {
	// Create is how many workers to add.
	Create int
	// Drain are the ids of workers to remove. All of them are idle.
	Drain []string
	// Reserve are the ids of idle workers beyond the limit. They take only actions that a running action waits for, in case that
	// there are more of those, and go after ScaledownTTL.
	Reserve []string
	// Next is when the passage of time alone may change the decision; zero for never.
	Next time.Time
}

// limit is how many workers the pool may have now.
func (p Pool) limit() int {
	limit := p.Policy.Max
	for _, w := range p.Workers {
		if w.blocked() {
			limit++
		}
	}
	return limit
}

// Decide says how many workers a pool should have now: at least the policy's minimum from its first action until it had no
// work for IdleTTL; up to the maximum while work waits and all slots are taken; one less when a worker was idle for
// ScaledownTTL. A worker that waits in all its slots for descendants does not count towards the maximum, so that a parent
// cannot keep its own children out: see docs/reusable-environments.md.
func Decide(p Pool, now time.Time) Decision {
	var d Decision
	busy, free := 0, 0
	for _, w := range p.Workers {
		busy += w.Busy
		free += max(0, w.Slots-w.Busy)
	}
	idleEnd := p.LastWork.Add(p.Policy.IdleTTL)
	if p.Waiting == 0 && busy == 0 {
		if !now.Before(idleEnd) {
			for _, w := range p.Workers {
				d.Drain = append(d.Drain, w.ID)
			}
			return d
		}
		d.at(idleEnd)
	}
	limit, have := p.limit(), len(p.Workers)
	missing := max(0, p.Waiting-free)
	wanted := have + (missing+p.Policy.Concurrency-1)/p.Policy.Concurrency
	d.Create = max(0, min(max(wanted, p.Policy.Min), limit)-have)
	if d.Create == 0 {
		d.shrink(p, have-limit, now)
	}
	return d
}

// Close changes the decision about a pool whose cluster takes no new work: nothing is created, and workers without work end as they
// would otherwise, or all at once if the cluster is to become empty.
func Close(p Pool, d Decision, empties bool) Decision {
	d.Create = 0
	if !empties {
		return d
	}
	d.Drain, d.Reserve = nil, nil
	for _, w := range p.Workers {
		if w.Busy == 0 {
			d.Drain = append(d.Drain, w.ID)
		}
	}
	return d
}

// shrink drains workers that were idle for ScaledownTTL, down to the minimum. Idle workers beyond the limit are kept in reserve
// meanwhile: a parent that calls one child after the other needs the same extra worker for each. What has not started goes at once.
func (d *Decision) shrink(p Pool, over int, now time.Time) {
	idle := slices.DeleteFunc(slices.Clone(p.Workers), func(w Worker) bool { return w.Busy > 0 })
	slices.SortFunc(idle, func(a, b Worker) int {
		if a.Started != b.Started {
			if b.Started {
				return -1 // what has not started has cost least
			}
			return 1
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	left := len(p.Workers)
	for _, w := range idle {
		expires := w.Since.Add(p.Policy.ScaledownTTL)
		switch {
		case over > 0:
			over--
			if w.Started && now.Before(expires) {
				d.Reserve = append(d.Reserve, w.ID)
				d.at(expires)
				continue
			}
		case left <= p.Policy.Min || p.Waiting > 0:
			continue
		case now.Before(expires):
			d.at(expires)
			continue
		}
		left--
		d.Drain = append(d.Drain, w.ID)
	}
}

// at notes a time at which the decision may change.
func (d *Decision) at(t time.Time) {
	if d.Next.IsZero() || t.Before(d.Next) {
		d.Next = t
	}
}

// Turn is the place of a waiting action among those of its pool.
type Turn struct {
	// Nested says that an action which holds a slot of the pool waits for it.
	Nested bool
	// Priority is the action's; a greater one goes first.
	Priority int32
	// Queued is when the action was recorded.
	Queued time.Time
	// UID is the database id of the action.
	UID int64
}

// Before is negative if a gets a slot before b: what a running action waits for goes first, whatever its priority, since
// that slot is free only after it; then the greater priority, then the older action.
func Before(a, b Turn) int {
	if a.Nested != b.Nested {
		if a.Nested {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Queued.Compare(b.Queued), cmp.Compare(a.UID, b.UID))
}
