package admission

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// share is the groups of one person of a project, of one priority. A lane orders shares, and a share its groups: so an
// action that starts moves one share, not each of the thousands of actions that its owner may have in the queue.
type share struct {
	shareKey
	groups ordered[*candidate]
	rank   rank
}

type shareKey struct {
	owner    limits.Person
	priority int32
}

// rank orders the shares of a queue: by higher priority; then the project with fewer places, and of those with as many the
// one whose last turn is longest ago; then the person by the same two; then the run with fewer places; then the older action.
// While admission picks, it only grows. docs/decisions/places-instead-of-deficits.md compares this with deficit round robin.
type rank [7]int64

func (s *share) ranked(first *candidate, load *limits.Load, turns *turns) rank {
	return rank{
		-int64(s.priority),
		int64(load.OfProject(s.owner.Project)), turns.ofProject(s.owner.Project),
		int64(load.OfPerson(s.owner)), turns.ofPerson(s.owner),
		int64(first.places), first.head(),
	}
}

func (s *share) before(other *share) bool { return slices.Compare(s.rank[:], other.rank[:]) < 0 }

// next is the first group whose run is not at its limit; nil when there is none.
func (s *share) next(load *limits.Load) *candidate {
	for len(s.groups) > 0 {
		c := s.groups[0]
		places := load.OfRun(c.RunID)
		switch {
		case load.RunFull(c.RunID, int(c.RunLimit)), c.taken == len(c.IDs) && !c.More:
			heap.Pop(&s.groups)
		case places != c.places || c.taken != c.ordered: // a run may be in several lanes
			c.places, c.ordered = places, c.taken
			heap.Fix(&s.groups, 0)
		default:
			return c
		}
	}
	return nil
}

// candidate is a group in a share.
type candidate struct {
	*worklists.Waiting
	taken           int // of Waiting
	places, ordered int // of its run, and taken, when it was ordered
}

// head is the id of the oldest action not taken yet, or the last known id.
func (c *candidate) head() int64 { return c.IDs[min(c.ordered, len(c.IDs)-1)] }

// compare orders by the run with fewer places, then the older action.
func (c *candidate) compare(other *candidate) int {
	return cmp.Or(cmp.Compare(c.places, other.places), cmp.Compare(c.head(), other.head()))
}

func (c *candidate) before(other *candidate) bool { return c.compare(other) < 0 } //nolint:unused // ordered calls it

// ordered is a heap.
type ordered[T interface{ before(other T) bool }] []T

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (o ordered[T]) Len() int           { return len(o) }
func (o ordered[T]) Less(i, j int) bool { return o[i].before(o[j]) }
func (o ordered[T]) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *ordered[T]) Push(x any)        { *o = append(*o, x.(T)) } //nolint:forcetypeassert // the heap holds nothing else
func (o *ordered[T]) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}
