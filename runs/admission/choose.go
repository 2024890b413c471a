package admission

import (
	"cmp"
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

// lane has the groups that wait for the same limits of the same queue, by owner.
type lane struct {
	queue  *queues.Queue
	root   bool
	runner schema.Runner
	shares ordered[*share]
}

// choose picks up to n actions one by one, each time the first in order that no limit holds back, and adds each to
// the load. While places are scarce, a queue below its guarantee goes first; the load must then count every queue.
func choose(set *queues.Set, waiting []worklists.Waiting, load *limits.Load, turns *turns, scarce bool, n int) choice {
	lanes := lanesOf(set, waiting, load, turns)
	var result choice
	index := map[*worklists.Waiting]int{}
	for range n {
		var best *lane
		for _, ofQueue := range lanes {
			first, starved := firstOf(ofQueue, load, turns)
			result.starved = result.starved || starved
			if first != nil && (best == nil || first.before(best, load, scarce)) {
				best = first
			}
		}
		if best == nil {
			break
		}
		c := best.next(load, turns)
		at, known := index[c.Waiting]
		if !known {
			at = len(result.picks)
			index[c.Waiting] = at
			result.picks = append(result.picks, pick{group: c.Waiting})
		}
		result.picks[at].n++
		action := actionOf(best.queue, c.Waiting)
		load.Add(action)
		turns.take(action.Owner())
		c.taken++
	}
	return result
}

// firstOf is the lane of a queue that has the first action that no limit holds back; nil when there is none. It reports
// whether an action waits only for a place of the installation.
func firstOf(lanes []*lane, load *limits.Load, turns *turns) (first *lane, starved bool) {
	for _, l := range lanes {
		switch {
		case load.QueueFull(l.queue, l.root) || l.next(load, turns) == nil:
		case load.InstallationFull(l.runner.OnCluster()):
			starved = true
		case first == nil || l.shares[0].before(first.shares[0]):
			first = l
		}
	}
	return first, starved
}

// lanesOf returns the lanes of each queue.
func lanesOf(set *queues.Set, waiting []worklists.Waiting, load *limits.Load, turns *turns) [][]*lane {
	type key struct {
		queue  *queues.Queue
		root   bool
		runner schema.Runner
	}
	lanes, at := map[key]*lane{}, map[*queues.Queue]int{}
	shares := map[key]map[shareKey]*share{}
	var byQueue [][]*lane
	for i := range waiting {
		group := &waiting[i]
		if len(group.IDs) == 0 {
			continue // no group has room, or none are left
		}
		k := key{set.Of(group.Queue), group.Root, group.Runner}
		l := lanes[k]
		if l == nil {
			l = &lane{queue: k.queue, root: k.root, runner: k.runner}
			lanes[k], shares[k] = l, map[shareKey]*share{}
			if _, known := at[k.queue]; !known {
				at[k.queue] = len(byQueue)
				byQueue = append(byQueue, nil)
			}
			byQueue[at[k.queue]] = append(byQueue[at[k.queue]], l)
		}
		owner := shareKey{actionOf(k.queue, group).Owner(), group.Priority}
		s := shares[k][owner]
		if s == nil {
			s = &share{shareKey: owner}
			shares[k][owner] = s
			l.shares = append(l.shares, s)
		}
		s.groups = append(s.groups, &candidate{Waiting: group, places: load.OfRun(group.RunID)})
	}
	for _, l := range lanes {
		for _, s := range l.shares {
			heap.Init(&s.groups)
			s.rank = s.ranked(s.groups[0], load, turns)
		}
		heap.Init(&l.shares)
	}
	return byQueue
}

// next is the first group of the lane whose run is not at its limit; nil when there is none. What was picked since the
// last call moved some owners and runs back, so it looks again at those at the front.
func (l *lane) next(load *limits.Load, turns *turns) *candidate {
	for len(l.shares) > 0 {
		s := l.shares[0]
		c := s.next(load)
		if c == nil {
			heap.Pop(&l.shares)
			continue
		}
		now := s.ranked(c, load, turns)
		if now == s.rank {
			return c
		}
		s.rank = now
		heap.Fix(&l.shares, 0)
	}
	return nil
}

// before orders lanes of two queues: those below their guarantee first, then by higher priority of the queue, then by the
// first action. Projects take turns within a queue only.
func (l *lane) before(other *lane, load *limits.Load, scarce bool) bool {
	mine, theirs := scarce && l.short(load), scarce && other.short(load)
	switch {
	case mine != theirs:
		return mine
	case l.queue.Priority != other.queue.Priority:
		return l.queue.Priority > other.queue.Priority
	}
	first, second := l.shares[0], other.shares[0]
	return cmp.Or(cmp.Compare(second.priority, first.priority), first.groups[0].compare(second.groups[0])) < 0
}

// short reports whether the queue is below its guarantee.
func (l *lane) short(load *limits.Load) bool { return load.OfQueue(l.queue) < l.queue.Guaranteed() }

// actionOf is an action of a group, in the form that package limits takes.
func actionOf(q *queues.Queue, group *worklists.Waiting) limits.Action {
	return limits.Action{
		Queue: q, Project: group.Project, Person: group.Person, RunID: group.RunID, RunLimit: int(group.RunLimit), Root: group.Root,
		Executor: group.Runner.OnCluster(),
	}
}
