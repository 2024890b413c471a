package check

import (
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// life is one attempt that a worker ran. It ended at the earliest with its last note.
type life struct {
	what         string
	worker       int
	began, ended time.Time
}

// poolsHold: no worker runs more attempts at a time than it has slots, and no pool has more workers than its environment may have. Those of
// a cluster that is lost run on, and it gets as many in another one.
func poolsHold(e *Evidence, f *findings) {
	for pool, lives := range livesInPools(e) {
		policy := script.Reuse(pool)
		workers := map[int]*life{} // when each was given its first and its last attempt
		for i := range lives {
			one := &lives[i]
			if atOnce := count(lives, func(other life) bool { return other.worker == one.worker && other.runsAt(one.began) }); atOnce > int(policy.GetConcurrency()) {
				f.add("worker %d of %s ran %d attempts with %d slots when %s began", one.worker, pool, atOnce, policy.GetConcurrency(), one.what)
			}
			w := workers[one.worker]
			if w == nil {
				workers[one.worker] = &life{began: one.began, ended: one.began}
				continue
			}
			if one.began.Before(w.began) {
				w.began = one.began
			}
			if one.began.After(w.ended) {
				w.ended = one.began
			}
		}
		if pool == script.NestedPool {
			continue // it gets more workers while parents wait
		}
		for _, one := range lives {
			running := 0
			for _, w := range workers {
				if w.runsAt(one.began) {
					running++
				}
			}
			if most := int(policy.GetMaxReplicas()) * max(e.Clusters, 1); running > most {
				f.add("%s had %d workers of at most %d when %s began", pool, running, most, one.what)
			}
		}
	}
}

// runsAt reports whether it ran at a time, its first and last moments included.
func (l life) runsAt(at time.Time) bool { return !l.began.After(at) && !l.ended.Before(at) }

func livesInPools(e *Evidence) map[string][]life {
	all := map[string][]life{}
	for i := range e.Runs {
		nodes := nodesOf(&e.Runs[i])
		type process struct {
			action  string
			attempt int
			pid     int
		}
		found := map[process]*life{}
		for _, note := range e.Runs[i].Notes {
			key := process{note.Action, note.Attempt, note.Pid}
			if note.What == ledger.Start && nodes[note.Action].Pool != "" {
				found[key] = &life{what: note.Run + "/" + note.Action, worker: note.Parent, began: note.At, ended: note.At}
			}
		}
		for _, note := range e.Runs[i].Notes {
			if one := found[process{note.Action, note.Attempt, note.Pid}]; one != nil && note.At.After(one.ended) {
				one.ended = note.At
			}
		}
		for key, one := range found {
			pool := nodes[key.action].Pool
			all[pool] = append(all[pool], *one)
		}
	}
	return all
}

func count(lives []life, which func(life) bool) (n int) {
	for _, one := range lives {
		if which(one) {
			n++
		}
	}
	return n
}
