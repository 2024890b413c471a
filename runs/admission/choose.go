package admission

import (
	"container/heap"

	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// usage is how much is under way, as far as a limit of those that wait makes it matter.
type usage struct {
	free   int  // places of the installation
	scarce bool // these are few, and every queue is counted
	queues map[*queues.Queue]*queueUse
	runs   map[int64]int // places taken
}

// queueUse is what a queue has under way.
type queueUse struct{ actions, runs int }

func (u *usage) of(q *queues.Queue) *queueUse {
	use := u.queues[q]
	if use == nil {
		use = &queueUse{}
		u.queues[q] = use
	}
	return use
}

// room tells whether neither the run nor the queue holds a group back.
func (u *usage) room(q *queues.Queue, group *store.Waiting) bool {
	return !u.full(q, group.Root) && (group.RunLimit == 0 || u.runs[group.RunID] < int(group.RunLimit))
}

// full tells whether a limit of the queue is reached.
func (u *usage) full(q *queues.Queue, root bool) bool {
	used := u.of(q)
	return q.MaxActions > 0 && used.actions >= q.MaxActions || root && q.MaxRuns > 0 && used.runs >= q.MaxRuns
}

// choice is what may start now.
type choice struct {
	picks []pick
	// starved tells that something may start as soon as the installation has a free place.
	starved bool
}

// pick is how many of a group may start, its oldest. That may be more than are known of it.
type pick struct {
	group *store.Waiting
	n     int
}

// lane has the groups that wait for the same limits of the same queue, the next one first.
type lane struct {
	queue  *queues.Queue
	root   bool
	runner store.Runner
	groups []*candidate
}

// candidate is a group in a lane.
type candidate struct {
	*store.Waiting
	taken  int // of Waiting
	places int // of its run, when it was put in order
}

// head is the id of the oldest that has not been taken; of those that are not known, the last known one.
func (c *candidate) head() int64 { return c.IDs[min(c.taken, len(c.IDs)-1)] }

// before: a higher priority first, then the run with fewer places, then the older action.
func (c *candidate) before(other *candidate) bool {
	switch {
	case c.Priority != other.Priority:
		return c.Priority > other.Priority
	case c.places != other.places:
		return c.places < other.places
	default:
		return c.head() < other.head()
	}
}

// Len, Less, Swap, Push and Pop are for the heap.
func (l *lane) Len() int           { return len(l.groups) }
func (l *lane) Less(i, j int) bool { return l.groups[i].before(l.groups[j]) }
func (l *lane) Swap(i, j int)      { l.groups[i], l.groups[j] = l.groups[j], l.groups[i] }
func (l *lane) Push(x any)         { l.groups = append(l.groups, x.(*candidate)) }
func (l *lane) Pop() any {
	last := l.groups[len(l.groups)-1]
	l.groups = l.groups[:len(l.groups)-1]
	return last
}

// choose picks up to n actions, one after the other, each time the first in order of those that no limit holds back. It
// counts what it picks in the usage.
func choose(set *queues.Set, waiting []store.Waiting, use *usage, n int) choice {
	lanes := lanesOf(set, waiting, use)
	var result choice
	index := map[*store.Waiting]int{}
	for range n {
		var best *lane
		for _, l := range lanes {
			if use.full(l.queue, l.root) || l.next(use) == nil {
				continue
			}
			if l.runner == store.RunnerExecutor && use.free <= 0 {
				result.starved = true
				continue
			}
			if best == nil || l.before(best, use) {
				best = l
			}
		}
		if best == nil {
			break
		}
		c := best.next(use)
		at, known := index[c.Waiting]
		if !known {
			at = len(result.picks)
			index[c.Waiting] = at
			result.picks = append(result.picks, pick{group: c.Waiting})
		}
		result.picks[at].n++
		best.take(c, use)
	}
	return result
}

func lanesOf(set *queues.Set, waiting []store.Waiting, use *usage) []*lane {
	type key struct {
		queue  *queues.Queue
		root   bool
		runner store.Runner
	}
	byKey := map[key]*lane{}
	var lanes []*lane
	for i := range waiting {
		group := &waiting[i]
		if len(group.IDs) == 0 {
			continue // none has room, or is there any more
		}
		k := key{set.Of(group.Queue), group.Root, group.Runner}
		l := byKey[k]
		if l == nil {
			l = &lane{queue: k.queue, root: k.root, runner: k.runner}
			byKey[k] = l
			lanes = append(lanes, l)
		}
		l.groups = append(l.groups, &candidate{Waiting: group, places: use.runs[group.RunID]})
	}
	for _, l := range lanes {
		heap.Init(l)
	}
	return lanes
}

// next is the first of the lane whose run is not at its limit; nil when there is none.
func (l *lane) next(use *usage) *candidate {
	for len(l.groups) > 0 {
		c := l.groups[0]
		places := use.runs[c.RunID]
		switch {
		case c.RunLimit > 0 && places >= int(c.RunLimit), c.taken == len(c.IDs) && !c.More:
			heap.Pop(l)
		case places != c.places: // a run may be in several lanes
			c.places = places
			heap.Fix(l, 0)
		default:
			return c
		}
	}
	return nil
}

// before: a queue that has less than it is guaranteed first, then the one of higher priority, then as within a lane.
func (l *lane) before(other *lane, use *usage) bool {
	mine, theirs := l.short(use), other.short(use)
	switch {
	case mine != theirs:
		return mine
	case l.queue.Priority != other.queue.Priority:
		return l.queue.Priority > other.queue.Priority
	default:
		return l.groups[0].before(other.groups[0])
	}
}

func (l *lane) short(use *usage) bool {
	return use.scarce && use.of(l.queue).actions < l.queue.Guaranteed()
}

func (l *lane) take(c *candidate, use *usage) {
	used := use.of(l.queue)
	used.actions++
	if l.root {
		used.runs++
	}
	if l.runner == store.RunnerExecutor {
		use.free--
	}
	use.runs[c.RunID]++
	c.taken++
	c.places++
	heap.Fix(l, 0)
}
