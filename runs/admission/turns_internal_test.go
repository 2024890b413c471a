package admission

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// naive picks as choose does, by comparing every waiting action with every other: by the terms of the order before owners
// took turns, and with turns by theirs too. It returns how many of each group it picked.
func naive(set *queues.Set, waiting []worklists.Waiting, load *limits.Load, turns *turns, scarce bool, n int) []int {
	taken := make([]int, len(waiting))
	within := func(i int) rank { // a queue
		g := &waiting[i]
		r := rank{-int64(g.Priority), 0, 0, 0, 0, int64(load.OfRun(g.RunID)), g.IDs[taken[i]]}
		if turns != nil {
			owner := actionOf(set.Of(g.Queue), g).Owner()
			r[1], r[2] = int64(load.OfProject(owner.Project)), turns.ofProject(owner.Project)
			r[3], r[4] = int64(load.OfPerson(owner)), turns.ofPerson(owner)
		}
		return r
	}
	between := func(i int) [5]int64 { // queues
		q := set.Of(waiting[i].Queue)
		r := within(i)
		guaranteed := int64(1)
		if scarce && load.OfQueue(q) < q.Guaranteed() {
			guaranteed = 0
		}
		return [5]int64{guaranteed, -int64(q.Priority), r[0], r[5], r[6]}
	}
	for range n {
		first := map[*queues.Queue]int{}
		for i := range waiting {
			q := set.Of(waiting[i].Queue)
			if taken[i] == len(waiting[i].IDs) || !load.Decide(actionOf(q, &waiting[i])).Admits() {
				continue
			}
			mine := within(i)
			if best, known := first[q]; known {
				if theirs := within(best); slices.Compare(theirs[:], mine[:]) < 0 {
					continue
				}
			}
			first[q] = i
		}
		best := -1
		for i := range maps.Values(first) {
			mine := between(i)
			if best >= 0 {
				if theirs := between(best); slices.Compare(theirs[:], mine[:]) < 0 {
					continue
				}
			}
			best = i
		}
		if best < 0 {
			break
		}
		action := actionOf(set.Of(waiting[best].Queue), &waiting[best])
		load.Add(action)
		if turns != nil {
			turns.take(action.Owner())
		}
		taken[best]++
	}
	return taken
}

// TestTheOrderOfAdmission: choose picks what comparing all actions picks. Of one owner, the order is the one without turns.
func TestTheOrderOfAdmission(t *testing.T) {
	for name, several := range map[string]bool{"one owner": false, "several owners": true} {
		t.Run(name, func(t *testing.T) {
			proptest.Check(t, func(t *rapid.T) {
				set, waiting, load := backlogOf(t, several)
				before, expected := newTurns(), (*turns)(nil)
				if several {
					expected = newTurns()
					for range rapid.IntRange(0, 5).Draw(t, "turns before") {
						g := &waiting[rapid.IntRange(0, len(waiting)-1).Draw(t, "turn")]
						owner := actionOf(set.Of(g.Queue), g).Owner()
						before.take(owner)
						expected.take(owner)
					}
				}
				scarce, n := rapid.Bool().Draw(t, "scarce"), rapid.IntRange(1, 20).Draw(t, "batch")
				picked := map[*worklists.Waiting]int{}
				for _, p := range choose(set, waiting, load(), before, scarce, n).picks {
					picked[p.group] = p.n
				}
				for i, n := range naive(set, waiting, load(), expected, scarce, n) {
					require.Equal(t, n, picked[&waiting[i]], "group %d of %+v", i, waiting)
				}
			})
		})
	}
}

// TestProjectsTakeTurns: projects and people always have work, in a queue with few places, and any live action may end at
// any time. No project has more than one place more than another, and of a single project no person. The action that has been
// live longest ends sooner or later, so each owner has its turn after a number of turns that does not grow with what waits.
func TestProjectsTakeTurns(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		set := queues.New([]queues.Queue{{Name: "q", MaxActions: rapid.IntRange(1, 6).Draw(t, "places")}})
		places := set.Of("q").MaxActions
		var all []owner
		projects := rapid.IntRange(1, 5).Draw(t, "projects")
		for project := range projects {
			for person := range rapid.IntRange(1, 3).Draw(t, "people") {
				all = append(all, owner{fmt.Sprint("p", project), fmt.Sprint("s", person)})
			}
		}
		old := rapid.IntRange(1, 1000).Draw(t, "roots of the first")
		turns := newTurns()
		var live []owner
		waited := map[owner]int{}
		for step := range 100 {
			var waiting []worklists.Waiting
			for i, who := range all { // the first has the oldest
				waiting = append(waiting, worklists.Waiting{
					Queue: "q", Root: true, Project: who.project, Person: who.person, IDs: []int64{int64(i*old + 1)}, More: true,
				})
			}
			counted := &worklists.Load{}
			for i, who := range live {
				counted.Parts = append(counted.Parts, worklists.LoadPart{
					Queue: "q", RunID: int64(i + 1), Project: who.project, Person: who.person, Actions: 1, Executor: 1, Root: true,
				})
			}
			load := limits.New(set, limits.Snapshot{MaxLive: 100, Scope: worklists.LoadScope{Queues: []string{"q"}, Owners: true}, Counted: counted})
			for _, who := range all {
				waited[who]++
			}
			for _, p := range choose(set, waiting, load, turns, false, 10).picks {
				who := owner{p.group.Project, p.group.Person}
				for range p.n {
					live = append(live, who)
				}
				waited[who] = 0
			}
			require.Len(t, live, places)
			ofProject, ofPerson := map[string]int{}, map[owner]int{}
			for _, who := range live {
				ofProject[who.project]++
				ofPerson[who]++
			}
			for _, mine := range all {
				for _, other := range all {
					require.LessOrEqual(t, ofProject[mine.project], ofProject[other.project]+1, "step %d: %v", step, live)
					if projects == 1 {
						require.LessOrEqual(t, ofPerson[mine], ofPerson[other]+1, "step %d: %v", step, live)
					}
				}
				require.LessOrEqual(t, waited[mine], 4*len(all)*places, "%v in step %d", mine, step)
			}
			if rapid.IntRange(0, 2).Draw(t, "any ends") > 0 {
				live = slices.Delete(live, 0, 1)
			} else {
				at := rapid.IntRange(0, len(live)-1).Draw(t, "ends")
				live = slices.Delete(live, at, at+1)
			}
		}
	})
}

// TestOnePlaceIsShared: with one place, no project has any when the place becomes free. Without a memory of turns, a project
// with thousands of older actions would get it each time; and so it would if an owner were new whenever it comes back.
func TestOnePlaceIsShared(t *testing.T) {
	set := queues.New([]queues.Queue{{Name: "q", MaxActions: 1}})
	turns := newTurns()
	next := func(projects ...string) string {
		var waiting []worklists.Waiting
		for i, project := range projects {
			waiting = append(waiting, worklists.Waiting{Queue: "q", Root: true, Project: project, IDs: []int64{int64(i + 1)}, More: true})
		}
		found := choose(set, waiting, limits.New(set, limits.Snapshot{MaxLive: 10, Counted: &worklists.Load{}}), turns, false, 1)
		return found.picks[0].group.Project
	}
	require.Equal(t, "old", next("old", "young"))
	require.Equal(t, "young", next("old", "young"))
	require.Equal(t, "old", next("old", "young"))
	require.Equal(t, "third", next("old", "young", "third"), "it has not had a turn")
	require.Equal(t, "old", next("old", "third"), "young does not wait for a moment")
	require.Equal(t, "young", next("old", "young", "third"), "it is not new when it comes back: its last turn is longest ago")
	require.Equal(t, "third", next("old", "young", "third"))
	require.Equal(t, "old", next("old", "young", "third"))
	turns.forget()
	require.Equal(t, "old", next("old", "young"))
}
