package admission

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// flows is deficit round robin as Shreedhar and Varghese published it: the flow at the front gets its quantum, and is served
// while its deficit covers the cost of its first item. A flow that has no items loses its deficit and its place in the list.
type flows struct {
	quantum int
	active  []string
	deficit map[string]int
	visited bool // the first of active has had its quantum in this round
}

func newFlows(names []string) *flows {
	return &flows{quantum: 1, active: slices.Clone(names), deficit: map[string]int{}}
}

// next is the flow that is served. cost is that of the first item of a flow, 0 if it has none. Some flow must have one.
func (f *flows) next(cost func(flow string) int) string {
	for {
		flow := f.active[0]
		if !f.visited {
			f.deficit[flow] += f.quantum
			f.visited = true
		}
		switch c := cost(flow); {
		case c == 0:
			f.deficit[flow] = 0
			f.active, f.visited = f.active[1:], false
		case c <= f.deficit[flow]:
			f.deficit[flow] -= c
			return flow
		default:
			f.active, f.visited = append(f.active[1:], flow), false
		}
	}
}

// drr picks by deficit round robin: among the projects, and among the people of the project that is served.
type drr struct {
	projects *flows
	people   map[string]*flows
	left     map[owner]int
}

func newDRR(all []owner, left map[owner]int) *drr {
	d := &drr{people: map[string]*flows{}, left: left}
	var projects []string
	people := map[string][]string{}
	for _, who := range all {
		if people[who.project] == nil {
			projects = append(projects, who.project)
		}
		people[who.project] = append(people[who.project], who.person)
	}
	for project, names := range people {
		d.people[project] = newFlows(names)
	}
	d.projects = newFlows(projects)
	return d
}

// pick is whose action starts. Every action costs one.
func (d *drr) pick() owner {
	project := d.projects.next(func(project string) int {
		for who, left := range d.left {
			if who.project == project && left > 0 {
				return 1
			}
		}
		return 0
	})
	who := owner{project, d.people[project].next(func(person string) int { return min(1, d.left[owner{project, person}]) })}
	d.left[who]--
	return who
}

// ours picks by choose, one action at a time, in a queue of its own.
type ours struct {
	set   *queues.Set
	turns *turns
	all   []owner
	left  map[owner]int
	age   map[owner]int64 // of the oldest action that waits; all of one owner are older than any of the next
}

func newOurs(places int, all []owner, left map[owner]int) *ours {
	o := &ours{set: queues.New([]queues.Queue{{Name: "q", MaxActions: places}}), turns: newTurns(), all: all, left: left, age: map[owner]int64{}}
	for i, who := range all {
		o.age[who] = int64(1000*i + 1)
	}
	return o
}

// pick is whose action starts, given who has the places.
func (o *ours) pick(t require.TestingT, live []holder) owner {
	counted := &worklists.Load{}
	for i, h := range live {
		counted.Parts = append(counted.Parts, worklists.LoadPart{
			Queue: "q", RunID: int64(i + 1), Project: h.project, Person: h.person, Actions: 1, Executor: 1, Root: true,
		})
	}
	load := limits.New(o.set, limits.Snapshot{MaxLive: 1000, Scope: worklists.LoadScope{Queues: []string{"q"}, Owners: true}, Counted: counted})
	var waiting []worklists.Waiting
	for _, who := range o.all {
		if o.left[who] > 0 {
			waiting = append(waiting, worklists.Waiting{
				Queue: "q", Root: true, Project: who.project, Person: who.person, IDs: []int64{o.age[who]}, More: o.left[who] > 1,
			})
		}
	}
	picks := choose(o.set, waiting, load, o.turns, false, 1).picks
	require.Len(t, picks, 1)
	who := owner{picks[0].group.Project, picks[0].group.Person}
	o.left[who]--
	o.age[who]++
	return who
}

// holder has a place until an instant.
type holder struct {
	owner
	until int
}

// freed are those who still have their places at an instant.
func freed(live []holder, now int) []holder {
	return slices.DeleteFunc(live, func(h holder) bool { return h.until <= now })
}

// TestEqualDurationsAreDeficitRoundRobin: all owners wait from the beginning, each with any number of actions, and every action
// has its place for the same time. After any number of starts, no project and no person of a project has had more than one start
// more or less than by deficit round robin.
func TestEqualDurationsAreDeficitRoundRobin(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		var all []owner
		mine, theirs, total := map[owner]int{}, map[owner]int{}, 0
		for project := range rapid.IntRange(1, 5).Draw(t, "projects") {
			for person := range rapid.IntRange(1, 3).Draw(t, "people") {
				who := owner{fmt.Sprint("p", project), fmt.Sprint("s", person)}
				all = append(all, who)
				mine[who] = rapid.IntRange(1, 25).Draw(t, "actions")
				theirs[who] = mine[who]
				total += mine[who]
			}
		}
		places := rapid.IntRange(1, 9).Draw(t, "places")
		duration := rapid.IntRange(1, 6).Draw(t, "duration")
		o := newOurs(places, rapid.Permutation(all).Draw(t, "from the oldest"), mine)
		d := newDRR(all, theirs)
		ofOwner, ofProject := map[owner]int{}, map[string]int{} // our starts less those of deficit round robin
		var live []holder
		for now := 0; total > 0; now++ {
			live = freed(live, now)
			atMost := min(places-len(live), total)
			for range rapid.IntRange(min(1, atMost), atMost).Draw(t, "starts") {
				us, them := o.pick(t, live), d.pick()
				live = append(live, holder{us, now + duration})
				total--
				ofOwner[us]++
				ofOwner[them]--
				ofProject[us.project]++
				ofProject[them.project]--
				for who, n := range ofOwner {
					require.LessOrEqual(t, max(n, -n), 1, "%v at %d", who, now)
				}
				for project, n := range ofProject {
					require.LessOrEqual(t, max(n, -n), 1, "%s at %d", project, now)
				}
			}
		}
	})
}

// TestLongActionsTakeNoMoreThanTheirShare: one project's actions have their places at least twenty times as long as those of the
// others. By places, no project ever has more than one place more than another. By deficit round robin, which counts starts, the
// project with the long actions ends up with most of the queue.
func TestLongActionsTakeNoMoreThanTheirShare(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		const always = 1 << 30
		var all []owner
		mine, theirs, lasts := map[owner]int{}, map[owner]int{}, map[owner]int{}
		for project := range rapid.IntRange(2, 4).Draw(t, "projects") {
			who := owner{project: fmt.Sprint("p", project)}
			all = append(all, who)
			mine[who], theirs[who], lasts[who] = always, always, rapid.IntRange(1, 3).Draw(t, "short")
		}
		long := rapid.SampledFrom(all).Draw(t, "who has long actions")
		lasts[long] = rapid.IntRange(60, 100).Draw(t, "long")
		places := rapid.IntRange(2, 4).Draw(t, "share") * len(all)
		o, d := newOurs(places, all, mine), newDRR(all, theirs)
		var byPlaces, byStarts []holder
		for now := range 300 {
			byPlaces, byStarts = freed(byPlaces, now), freed(byStarts, now)
			for len(byPlaces) < places {
				who := o.pick(t, byPlaces)
				byPlaces = append(byPlaces, holder{who, now + lasts[who]})
			}
			for len(byStarts) < places {
				who := d.pick()
				byStarts = append(byStarts, holder{who, now + lasts[who]})
			}
			require.LessOrEqual(t, spread(byPlaces, all), 1, "at %d: %v", now, byPlaces)
		}
		require.Greater(t, spread(byStarts, all), 1, "%v", byStarts)
		require.Greater(t, placesOf(byStarts, long), places/2, "%v", byStarts)
	})
}

func placesOf(live []holder, who owner) (n int) {
	for _, h := range live {
		if h.owner == who {
			n++
		}
	}
	return n
}

// spread is how many places the owner with the most has more than the one with the fewest.
func spread(live []holder, all []owner) int {
	var counts []int
	for _, who := range all {
		counts = append(counts, placesOf(live, who))
	}
	return slices.Max(counts) - slices.Min(counts)
}
