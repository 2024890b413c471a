package admission

import (
	"container/heap"

	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// choice is the result of choose: the actions that may start now.
type choice struct {
	picks []pick
	// starved says that an action could start if the installation had a free place.
	starved bool
}

// pick is how many of a group may start, oldest first. That may exceed the number of known ids.
type pick struct {
	group *worklists.Waiting
	n     int
}

// lane has the groups that wait for the same limits of the same queue, as a heap.
type lane struct {
	queue  *queues.Queue
	root   bool
	runner schema.Runner
	groups []*candidate
}

// candidate is a group in a lane.
type candidate struct {
	*worklists.Waiting
	taken  int // of Waiting
	places int // of its run, when it was ordered
}

// head is the id of the oldest action not taken yet, or the last known id.
func (c *candidate) head() int64 { return c.IDs[min(c.taken, len(c.IDs)-1)] }

// before orders by higher priority, then the run with fewer places, then the older action.
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

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (l *lane) Len() int           { return len(l.groups) }
func (l *lane) Less(i, j int) bool { return l.groups[i].before(l.groups[j]) }
func (l *lane) Swap(i, j int)      { l.groups[i], l.groups[j] = l.groups[j], l.groups[i] }
func (l *lane) Push(x any)         { l.groups = append(l.groups, x.(*candidate)) } //nolint:forcetypeassert // the heap holds nothing else
func (l *lane) Pop() any {
	last := l.groups[len(l.groups)-1]
	l.groups = l.groups[:len(l.groups)-1]
	return last
}

// choose picks up to n actions one by one, each time the first in order that no limit holds back, and adds each to
// the load. While places are scarce, a queue below its guarantee goes first; the load must then count every queue.
func choose(set *queues.Set, waiting []worklists.Waiting, load *limits.Load, scarce bool, n int) choice {
	lanes := lanesOf(set, waiting, load)
	var result choice
	index := map[*worklists.Waiting]int{}
	for range n {
		var best *lane
		for _, l := range lanes {
			if load.QueueFull(l.queue, l.root) || l.next(load) == nil {
				continue
			}
			if load.InstallationFull(l.runner.OnCluster()) {
				result.starved = true
				continue
			}
			if best == nil || l.before(best, load, scarce) {
				best = l
			}
		}
		if best == nil {
			break
		}
		c := best.next(load)
		at, known := index[c.Waiting]
		if !known {
			at = len(result.picks)
			index[c.Waiting] = at
			result.picks = append(result.picks, pick{group: c.Waiting})
		}
		result.picks[at].n++
		best.take(c, load)
	}
	return result
}

func lanesOf(set *queues.Set, waiting []worklists.Waiting, load *limits.Load) []*lane {
	type key struct {
		queue  *queues.Queue
		root   bool
		runner schema.Runner
	}
	byKey := map[key]*lane{}
	var lanes []*lane
	for i := range waiting {
		group := &waiting[i]
		if len(group.IDs) == 0 {
			continue // no group has room, or none are left
		}
		k := key{set.Of(group.Queue), group.Root, group.Runner}
		l := byKey[k]
		if l == nil {
			l = &lane{queue: k.queue, root: k.root, runner: k.runner}
			byKey[k] = l
			lanes = append(lanes, l)
		}
		l.groups = append(l.groups, &candidate{Waiting: group, places: load.OfRun(group.RunID)})
	}
	for _, l := range lanes {
		heap.Init(l)
	}
	return lanes
}

// next is the first group of the lane whose run is not at its limit; nil when there is none.
func (l *lane) next(load *limits.Load) *candidate {
	for len(l.groups) > 0 {
		c := l.groups[0]
		places := load.OfRun(c.RunID)
		switch {
		case load.RunFull(c.RunID, int(c.RunLimit)), c.taken == len(c.IDs) && !c.More:
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

// before orders queues below their guarantee first, then by higher priority, then as within a lane.
func (l *lane) before(other *lane, load *limits.Load, scarce bool) bool {
	mine, theirs := scarce && l.short(load), scarce && other.short(load)
	switch {
	case mine != theirs:
		return mine
	case l.queue.Priority != other.queue.Priority:
		return l.queue.Priority > other.queue.Priority
	default:
		return l.groups[0].before(other.groups[0])
	}
}

// short reports whether the queue is below its guarantee.
func (l *lane) short(load *limits.Load) bool { return load.OfQueue(l.queue) < l.queue.Guaranteed() }

func (l *lane) take(c *candidate, load *limits.Load) {
	load.Add(actionOf(l.queue, c.Waiting))
	c.taken++
	c.places++
	heap.Fix(l, 0)
}

// actionOf is an action of a group, in the form that package limits takes.
func actionOf(q *queues.Queue, group *worklists.Waiting) limits.Action {
	return limits.Action{
		Queue: q, RunID: group.RunID, RunLimit: int(group.RunLimit), Root: group.Root, Executor: group.Runner.OnCluster(),
	}
}
