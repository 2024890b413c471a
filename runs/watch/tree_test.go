package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// known is what a client knows of a visible action.
type known struct {
	phase  int16
	counts string
}

// client keeps what a stream sends.
type client struct {
	tree *tree
	seen map[string]known
	t    require.TestingT
}

// take does what actionStream does with what is due, without a database.
func (c *client) take(rows map[string]*lists.Listed, counts bool) {
	for _, index := range c.tree.due(counts) {
		var name string
		for n, i := range c.tree.byName {
			if i == index {
				name = n
			}
		}
		row := rows[name]
		if !c.tree.visible(index) {
			require.Contains(c.t, c.seen, name, "only what the client has can leave")
			delete(c.seen, name)
		} else {
			if row.ParentName != nil {
				require.Contains(c.t, c.seen, *row.ParentName, "parents come first")
			}
			c.seen[name] = known{row.Phase, fmt.Sprint(c.tree.countsBelow(index))}
		}
		c.tree.told(index)
	}
}

// Random trees, changed at random and delivered in any order, against sums computed by hand.
func TestTreeMatchesNaiveCounts(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		var filter treeFilter
		if rapid.Bool().Draw(t, "byPhase") {
			filter.phases = &[phases]bool{4: true, 6: true}
		}
		if rapid.Bool().Draw(t, "byName") {
			filter.names = []string{"x"}
		}
		c := &client{tree: newTree(filter), seen: map[string]known{}, t: t}
		rows := map[string]*lists.Listed{}
		var names []string
		seq := int64(0)
		put := func(row *lists.Listed) { c.tree.put(row, func(int32, *lists.Listed) {}) }
		var delayed []*lists.Listed
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			seq++
			if len(names) == 0 || rapid.Bool().Draw(t, "new") {
				row := &lists.Listed{Action: schema.Action{
					Name: fmt.Sprintf("n%d", len(names)), ID: seq, LastSeq: seq, Phase: 1,
					TaskName: "env." + rapid.SampledFrom([]string{"axe", "bee", "fox"}).Draw(t, "task"),
				}}
				if len(names) > 0 {
					parent := rapid.SampledFrom(names).Draw(t, "parent")
					row.ParentName = &parent
				}
				names = append(names, row.Name)
				rows[row.Name] = row
			} else {
				changed := *rows[rapid.SampledFrom(names).Draw(t, "which")]
				changed.LastSeq = seq
				changed.Phase = rapid.Int16Range(1, 10).Draw(t, "phase")
				changed.Attempt++ // no state of an action ever comes back
				rows[changed.Name] = &changed
			}
			latest := rows[names[len(names)-1]]
			if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
				delayed = append(delayed, latest) // comes later, perhaps after its children
			} else {
				for _, row := range rows {
					if !slices.Contains(delayed, row) {
						put(row)
					}
				}
			}
			if rapid.Bool().Draw(t, "flush") {
				c.take(rows, rapid.Bool().Draw(t, "counts"))
			}
		}
		for _, row := range rows {
			put(row)
		}
		for _, row := range delayed {
			put(row) // stale
		}
		c.take(rows, true)
		require.Equal(t, byHand(filter, rows), c.seen)
		require.Empty(t, c.tree.orphans)
		require.Empty(t, c.tree.due(true), "nothing is sent twice")
	})
}

// byHand is what a client must know of a tree.
func byHand(filter treeFilter, rows map[string]*lists.Listed) map[string]known {
	counts := map[string]map[int32]int32{}
	visible := map[string]bool{}
	for name, row := range rows {
		match := filter.phased(row.Phase) &&
			(len(filter.names) == 0 || strings.Contains(row.TaskName, "axe") || strings.Contains(row.TaskName, "fox"))
		visible[name] = visible[name] || match
		for parent := row.ParentName; parent != nil; parent = rows[*parent].ParentName {
			if counts[*parent] == nil {
				counts[*parent] = map[int32]int32{}
			}
			counts[*parent][int32(row.Phase)]++
			visible[*parent] = visible[*parent] || match
		}
	}
	out := map[string]known{}
	for name, row := range rows {
		if visible[name] {
			out[name] = known{row.Phase, fmt.Sprint(counts[name])}
		}
	}
	return out
}

// A wide run and a deep one cost time in proportion to their size: each flush visits an ancestor once.
func BenchmarkTree(b *testing.B) {
	for _, shape := range []string{"wide", "deep"} {
		for _, n := range []int{10_000, 100_000} {
			if shape == "deep" && n > 10_000 {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", shape, n), func(b *testing.B) {
				for b.Loop() {
					t := newTree(treeFilter{})
					parent := "n0"
					for i := range n {
						row := &lists.Listed{Action: schema.Action{Name: fmt.Sprintf("n%d", i), ID: int64(i), LastSeq: int64(i + 1), Phase: 1}}
						if i > 0 {
							up := parent
							row.ParentName = &up
						}
						if shape == "deep" {
							parent = row.Name
						}
						t.put(row, func(int32, *lists.Listed) {})
						if i%1000 == 999 {
							for _, index := range t.due(false) {
								t.told(index)
							}
						}
					}
					t.due(true)
				}
			})
		}
	}
}
