package runs_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// calls is a random tree of calls: the parent of each action, parents first.
type calls struct {
	names  []string
	parent map[string]string
}

func drawCalls(rt *rapid.T) calls {
	tree := calls{parent: map[string]string{}}
	above := []string{"a0"}
	for i := range rapid.IntRange(1, 9).Draw(rt, "actions") {
		name := fmt.Sprint("n", i)
		tree.parent[name] = rapid.SampledFrom(above).Draw(rt, "parent of "+name)
		tree.names, above = append(tree.names, name), append(above, name)
	}
	return tree
}

// again returns what must run again when some are forced: they and all above them.
func (tree calls) again(forced []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range forced {
		for ; tree.parent[name] != ""; name = tree.parent[name] {
			set[name] = true
		}
	}
	return set
}

// execute plays the tasks of a run: each makes its calls and waits for them before it ends as ends says. It returns
// what ran and what was recovered.
func (c *writeFixture) execute(rt *rapid.T, run string, tree calls, ends func(name string) common.ActionPhase) (ran, reused map[string]bool) {
	ran, reused = map[string]bool{"a0": true}, map[string]bool{}
	for _, name := range tree.names {
		if !ran[tree.parent[name]] {
			continue
		}
		c.call(run, tree.parent[name], name)
		switch phase := c.phase(run, name); phase {
		case recovered:
			reused[name] = true
		case queued:
			ran[name] = true
		default:
			rt.Fatalf("%s of %s is %s", name, run, phase)
		}
	}
	for _, name := range slices.Backward(tree.names) {
		if !ran[name] {
			continue
		}
		switch phase := ends(name); phase {
		case succeeded:
			c.report(transition(run, name, 1, running))
			c.succeed(run, name)
		case running:
			c.report(transition(run, name, 1, running)) // it is still running when the run fails
		default:
			c.report(transition(run, name, 1, phase))
		}
	}
	c.report(transition(run, "a0", 1, failed))
	return ran, reused
}

// TestWhateverIsRecoveredNeverRuns recovers random runs with random lists of what must run again, and recovers the
// result again.
func TestWhateverIsRecoveredNeverRuns(t *testing.T) {
	c := newWriteFixture(t, nil)
	round := 0
	proptest.Check(t, func(rt *rapid.T) {
		round++
		source, second, third := fmt.Sprintf("s%d", round), fmt.Sprintf("t%d", round), fmt.Sprintf("u%d", round)
		tree := drawCalls(rt)
		end := rapid.SampledFrom([]common.ActionPhase{succeeded, succeeded, failed, running})
		drawn := map[string]common.ActionPhase{}
		c.create(runOf(source))
		c.execute(rt, source, tree, func(name string) common.ActionPhase {
			drawn[name] = end.Draw(rt, "end of "+name)
			return drawn[name]
		})
		forced := rapid.SliceOfDistinct(rapid.SampledFrom(append(slices.Clone(tree.names), "unknown")), rapid.ID).Draw(rt, "forced")
		c.create(related(second, recover_, source, forced...))
		ran, reused := c.execute(rt, second, tree, func(string) common.ActionPhase { return end.Draw(rt, "end") })
		again := tree.again(forced)
		for _, name := range tree.names {
			want := drawn[name] == succeeded && !again[name]
			switch {
			case reused[name] && !want:
				rt.Fatalf("%s was reused: it ended %s, forced are %v", name, drawn[name], forced)
			case ran[name] && want:
				rt.Fatalf("%s ran again although it succeeded, forced are %v", name, forced)
			case again[name] && !ran[name]:
				rt.Fatalf("%s had to run again, forced are %v", name, forced)
			}
		}
		c.create(related(third, recover_, second))
		_, reusedAgain := c.execute(rt, third, tree, func(string) common.ActionPhase { return succeeded })
		c.unmoved(rt, second, reused)
		c.unmoved(rt, third, reusedAgain)
	})
}

// unmoved checks that recovered actions never had another phase and have the outputs of their origin.
func (c *writeFixture) unmoved(rt *rapid.T, run string, reused map[string]bool) {
	var moved int
	err := c.pool.QueryRow(c.t.Context(), `
		SELECT count(*) FROM action_events e JOIN actions a ON a.id = e.action_id
		WHERE a.run_name = $1 AND a.phase = 10 AND (e.phase <> 10 OR a.admitted_at IS NOT NULL)`, run).Scan(&moved)
	if err != nil || moved > 0 {
		rt.Fatalf("%d events of recovered actions of %s have another phase (%v)", moved, run, err)
	}
	for name := range reused {
		from := c.details(run, name).GetMetadata().GetRecoveredFrom()
		if got, want := c.outputs(run, name), from.GetRun().GetName()+"/"+from.GetName(); got != want || from.GetName() != name {
			rt.Fatalf("%s of %s has the outputs of %s, and says %s", name, run, got, want)
		}
	}
}
