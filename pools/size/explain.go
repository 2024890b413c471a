package size

import (
	"fmt"
	"time"
)

// Cause says what keeps an action from a worker.
type Cause int

// The causes.
const (
	Nothing Cause = iota // a worker has a slot for it
	Slots                // the pool has as many workers as it may have, and all slots are taken
	Starts               // a worker is starting
	Problem              // no worker can start
	Backoff              // the pause before its next attempt
)

// Waiter is a waiting action.
type Waiter struct {
	// NotBefore is when the attempt may begin; the zero time means at once.
	NotBefore time.Time
	// Ahead is how many actions go before it.
	Ahead int
}

// Trouble is why the workers of a pool do not run.
type Trouble struct {
	// Reason is what the cluster says; empty if they run.
	Reason string
	// RetryAt is before when no worker is created; zero for any time.
	RetryAt time.Time
}

// Wait is why an action waits.
type Wait struct {
	Cause   Cause
	Message string
	// Limit is how many slots the pool may have, and Used how many are taken. They are set with Slots.
	Limit, Used int
}

// Explain says why an action of a pool waits, by the limits of Decide.
func Explain(p Pool, w Waiter, trouble Trouble, now time.Time) Wait {
	if w.NotBefore.After(now) {
		return Wait{Cause: Backoff, Message: "the pause before its next attempt ends at " + w.NotBefore.UTC().Format(time.RFC3339)}
	}
	started, starting, free, used := 0, 0, 0, 0
	for _, one := range p.Workers {
		if !one.Started {
			starting++
			continue
		}
		started++
		used += one.Busy
		if !one.Reserve {
			free += max(0, one.Slots-one.Busy)
		}
	}
	limit := p.limit()
	switch {
	case free > w.Ahead:
		return Wait{Message: "a worker is about to take it"}
	case started == 0 && trouble.Reason != "":
		return Wait{Cause: Problem, Message: "no worker can start: " + trouble.Reason + next(trouble, now)}
	case starting > 0:
		return Wait{Cause: Starts, Message: count(starting, "worker is", "workers are") + " starting"}
	case len(p.Workers) < limit && trouble.RetryAt.After(now):
		return Wait{Cause: Problem, Message: "no further worker can start: " + trouble.Reason + next(trouble, now)}
	case len(p.Workers) < limit:
		return Wait{Cause: Starts, Message: "a worker is about to be started"}
	}
	return Wait{
		Cause: Slots, Limit: limit * p.Policy.Concurrency, Used: used,
		Message: fmt.Sprintf("all slots are taken: %s, the most that its environment may have, with %s each",
			count(limit, "worker runs", "workers run"), count(p.Policy.Concurrency, "slot", "slots")),
	}
}

func next(t Trouble, now time.Time) string {
	if !t.RetryAt.After(now) {
		return ""
	}
	return "; the next try is at " + t.RetryAt.UTC().Format(time.RFC3339)
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
