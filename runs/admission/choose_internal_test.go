package admission

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// owner has a run in the tests.
type owner struct{ project, person string }

// owners returns who has runs 1 to 3, which have children that wait, and generates owners of roots that wait.
func owners(t *rapid.T, several bool) (runs map[int64]owner, roots *rapid.Generator[owner]) {
	if !several {
		return map[int64]owner{}, rapid.Just(owner{})
	}
	all := rapid.SampledFrom([]owner{{"p", "ada"}, {"p", "ben"}, {"q", "ada"}, {"q", ""}, {"r", "cy"}})
	return map[int64]owner{1: all.Draw(t, "owner of run 1"), 2: all.Draw(t, "owner of run 2"), 3: all.Draw(t, "owner of run 3")}, all
}

// backlogOf generates queues with limits, live actions in them, and waiting actions: groups of roots, each its own run, and
// groups of children of a few runs; of one owner, or of several.
func backlogOf(t *rapid.T, several bool) (set *queues.Set, waiting []worklists.Waiting, load func() *limits.Load) {
	limit := func(label string) int { return rapid.IntRange(0, 4).Draw(t, label) }
	var configured []queues.Queue
	for i := range rapid.IntRange(1, 3).Draw(t, "queues") {
		configured = append(configured, queues.Queue{
			Name: fmt.Sprint("q", i), MaxActions: limit("max actions"), MaxRuns: limit("max runs"),
			Priority: rapid.IntRange(-1, 1).Draw(t, "queue priority"),
		})
	}
	set = queues.New(configured)
	names := rapid.SampledFrom(append(set.Names(), "gone"))

	ofRun, ofRoots := owners(t, several)
	counted := worklists.Load{Runs: map[int64]int{}}
	for i := range rapid.IntRange(0, 6).Draw(t, "parts") {
		part := worklists.LoadPart{
			Queue: names.Draw(t, "queue"), RunID: int64(i%3 + 1), Actions: rapid.IntRange(0, 3).Draw(t, "live"),
			Root: rapid.Bool().Draw(t, "root"),
		}
		part.Project, part.Person = ofRun[part.RunID].project, ofRun[part.RunID].person
		part.Executor = rapid.IntRange(0, part.Actions).Draw(t, "executor")
		counted.Parts = append(counted.Parts, part)
		counted.Runs[part.RunID] += part.Actions
	}
	maxLive := rapid.IntRange(1, 12).Draw(t, "max live")
	load = func() *limits.Load {
		fresh := worklists.Load{Parts: counted.Parts, Runs: map[int64]int{}}
		for id, n := range counted.Runs {
			fresh.Runs[id] = n
		}
		return limits.New(set, limits.Snapshot{MaxLive: maxLive, Scope: worklists.LoadScope{All: true}, Counted: &fresh})
	}

	runLimits := map[int64]int32{1: int32(limit("limit of run 1")), 2: int32(limit("limit of run 2")), 3: 0}
	id := int64(100)
	type known struct {
		queue    string
		runner   schema.Runner
		priority int32
		who      owner
		run      int64
	}
	seen := map[known]bool{}
	for range rapid.IntRange(1, 12).Draw(t, "groups") {
		id += 10
		group := worklists.Waiting{
			Queue: names.Draw(t, "queue"), Root: rapid.Bool().Draw(t, "root"), Runner: schema.Runner(rapid.IntRange(0, 1).Draw(t, "runner")),
			Priority: int32(rapid.IntRange(-1, 1).Draw(t, "priority")), IDs: []int64{id},
		}
		who := ofRoots.Draw(t, "owner")
		if !group.Root {
			group.RunID = rapid.Int64Range(1, 3).Draw(t, "run")
			group.RunLimit = runLimits[group.RunID]
			who = ofRun[group.RunID]
		}
		group.Project, group.Person = who.project, who.person
		for n := range int64(rapid.IntRange(0, 5).Draw(t, "members")) {
			group.IDs = append(group.IDs, id+n+1)
		}
		if k := (known{group.Queue, group.Runner, group.Priority, who, group.RunID}); !seen[k] {
			seen[k] = true
			waiting = append(waiting, group)
		}
	}
	return set, waiting, load
}

// TestEveryHeldActionHasALimitToExplainIt: admission holds an action back if and only if its explanation names a limit, and
// that limit is reached.
func TestEveryHeldActionHasALimitToExplainIt(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		set, waiting, load := backlogOf(t, rapid.Bool().Draw(t, "several owners"))
		before, after := load(), load()
		found := choose(set, waiting, after, newTurns(), rapid.Bool().Draw(t, "scarce"), math.MaxInt16)

		picked := map[*worklists.Waiting]int{}
		for _, p := range found.picks {
			picked[p.group] = p.n
			a := actionOf(set.Of(p.group.Queue), p.group)
			if d := before.Decide(a); !d.Admits() {
				t.Fatalf("%+v was admitted though limit %d is reached: %d of %d", *p.group, d.Limit, d.Used, d.Max)
			}
		}
		starved := false
		for i := range waiting {
			group := &waiting[i]
			if picked[group] == len(group.IDs) {
				continue
			}
			d := after.Decide(actionOf(set.Of(group.Queue), group))
			if d.Admits() {
				t.Fatalf("%+v is held back after %d of its actions, and no limit explains it", *group, picked[group])
			}
			if d.Used < d.Max || d.Max == 0 {
				t.Fatalf("%+v is said to wait for limit %d, which is not reached: %d of %d", *group, d.Limit, d.Used, d.Max)
			}
			starved = starved || d.Limit == limits.Installation
		}
		if starved && !found.starved {
			t.Fatal("an action waits only for the installation, but choose did not report starved")
		}
	})
}

// TestAdmissionNeverExceedsALimit replays the chosen actions one by one.
func TestAdmissionNeverExceedsALimit(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		set, waiting, load := backlogOf(t, rapid.Bool().Draw(t, "several owners"))
		found := choose(set, waiting, load(), newTurns(), true, rapid.IntRange(1, 10).Draw(t, "batch"))
		replayed := load()
		for _, p := range found.picks {
			for range p.n {
				a := actionOf(set.Of(p.group.Queue), p.group)
				if d := replayed.Decide(a); !d.Admits() {
					t.Fatalf("%+v exceeds limit %d: %d of %d", *p.group, d.Limit, d.Used, d.Max)
				}
				replayed.Add(a)
			}
		}
	})
}
