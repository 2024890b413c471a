package size

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
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
	Cause Cause
	Says  []sentence.Sentence
	// Limit is how many slots the pool may have, and Used how many are taken. They are set with Slots.
	Limit, Used int
}

// Explain says why an action of a pool waits, by the limits of Decide.
func Explain(p Pool, w Waiter, trouble Trouble, now time.Time) Wait {
	if w.NotBefore.After(now) {
		return Says(Backoff, sentence.New("the pause before its next attempt ends at %s", w.NotBefore.UTC().Format(time.RFC3339)))
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
		return Says(Nothing, sentence.New("a worker is about to take it"))
	case started == 0 && trouble.Reason != "":
		return Says(Problem, next(trouble, now, sentence.New("no worker can start: %s", trouble.Reason))...)
	case starting > 0:
		return Says(Starts, sentence.Count(starting, "1 worker is starting", "{n} workers are starting"))
	case len(p.Workers) < limit && trouble.RetryAt.After(now):
		return Says(Problem, next(trouble, now, sentence.New("no further worker can start: %s", trouble.Reason))...)
	case len(p.Workers) < limit:
		return Says(Starts, sentence.New("a worker is about to be started"))
	}
	all := sentence.Count(limit, "all slots are taken: 1 worker runs, the most that its environment may have, with %d slots each",
		"all slots are taken: {n} workers run, the most that its environment may have, with %d slots each", p.Policy.Concurrency)
	if p.Policy.Concurrency == 1 {
		all = sentence.Count(limit, "all slots are taken: 1 worker runs, the most that its environment may have, with 1 slot each",
			"all slots are taken: {n} workers run, the most that its environment may have, with 1 slot each")
	}
	wait := Says(Slots, all)
	wait.Limit, wait.Used = limit*p.Policy.Concurrency, used
	return wait
}

// Says is a wait in words.
func Says(cause Cause, all ...sentence.Sentence) Wait { return Wait{Cause: cause, Says: all} }

// next adds when the next worker is tried.
func next(t Trouble, now time.Time, why sentence.Sentence) []sentence.Sentence {
	if !t.RetryAt.After(now) {
		return []sentence.Sentence{why}
	}
	return []sentence.Sentence{why, sentence.New("the next try is at %s", t.RetryAt.UTC().Format(time.RFC3339))}
}
