package watch

import (
	"slices"

	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// tree is one stream's view of the actions of a run: the parent of each, the phases below each, and what the client
// has. It keeps no rows, so that it stays small for runs with very many actions. An action whose parent is not known
// yet waits for it, so parents always come before their children.
type tree struct {
	filter treeFilter
	nodes  []node
	byName map[string]int32
	// orphans are rows that wait, by the name of the parent.
	orphans map[string][]*lists.Listed
	// touched are nodes that may have to be sent.
	touched map[int32]struct{}
	// deltas are changes not added to the ancestors yet, by the depth of the target node.
	deltas []map[int32]*delta
}

// node is an action.
type node struct {
	id     int64
	seq    int64  // the row's last event
	state  uint64 // fingerprint of the row
	parent int32  // index; -1 for the root
	depth  int32
	phase  int16
	named  bool           // the name passes the filter
	match  bool           // the filter is met by the action itself
	sent   bool           // the client has it
	stale  bool           // the row changed since it was sent
	below  int32          // descendants that pass the filter
	counts *[phases]int32 // descendants by phase; nil for a leaf
}

// delta is a change of the counts below a node.
type delta struct {
	match  int32
	counts [phases]int32
}

func newTree(filter treeFilter) *tree {
	return &tree{
		filter:  filter,
		byName:  map[string]int32{},
		orphans: map[string][]*lists.Listed{},
		touched: map[int32]struct{}{},
	}
}

// put adds a row and returns the nodes that are new or changed: none for a row older than the known one, several when
// others waited for this one.
func (t *tree) put(row *lists.Listed, changed func(index int32, row *lists.Listed)) {
	if index, known := t.byName[row.Name]; known {
		if t.update(index, row) {
			changed(index, row)
		}
		return
	}
	waiting := []*lists.Listed{row}
	for len(waiting) > 0 {
		row, waiting = waiting[0], waiting[1:]
		if index, known := t.byName[row.Name]; known { // it was read twice while it waited
			if t.update(index, row) {
				changed(index, row)
			}
			continue
		}
		index, attached := t.attach(row)
		if !attached {
			continue
		}
		changed(index, row)
		if children := t.orphans[row.Name]; children != nil {
			delete(t.orphans, row.Name)
			waiting = append(waiting, children...)
		}
	}
}

func (t *tree) attach(row *lists.Listed) (int32, bool) {
	n := node{id: row.ID, seq: row.LastSeq, state: fingerprint(&row.Action), parent: -1, phase: row.Phase, stale: true}
	if row.ParentName != nil {
		parent, known := t.byName[*row.ParentName]
		if !known {
			t.orphans[*row.ParentName] = append(t.orphans[*row.ParentName], row)
			return 0, false
		}
		n.parent = parent
		n.depth = t.nodes[parent].depth + 1
	}
	n.named = t.filter.named(&row.Action)
	n.match = n.named && t.filter.phased(row.Phase)
	index := int32(len(t.nodes)) //nolint:gosec // a run has fewer actions
	t.nodes = append(t.nodes, n)
	t.byName[row.Name] = index
	t.touched[index] = struct{}{}
	if d := t.deltaOf(n.parent); d != nil {
		d.counts[bounded(n.phase)]++
		if n.match {
			d.match++
		}
	}
	return index, true
}

func (t *tree) update(index int32, row *lists.Listed) bool {
	n := &t.nodes[index]
	if row.LastSeq <= n.seq {
		return false
	}
	n.seq = row.LastSeq
	state := fingerprint(&row.Action)
	if state == n.state {
		return false
	}
	match := n.named && t.filter.phased(row.Phase)
	if d := t.deltaOf(n.parent); d != nil {
		d.counts[bounded(n.phase)]--
		d.counts[bounded(row.Phase)]++
		d.match += toInt(match) - toInt(n.match)
	}
	n.state, n.phase, n.match, n.stale = state, row.Phase, match, true
	t.touched[index] = struct{}{}
	return true
}

// deltaOf is the pending change below a node; nil for the root's missing parent.
func (t *tree) deltaOf(index int32) *delta {
	if index < 0 {
		return nil
	}
	depth := int(t.nodes[index].depth)
	for len(t.deltas) <= depth {
		t.deltas = append(t.deltas, nil)
	}
	if t.deltas[depth] == nil {
		t.deltas[depth] = map[int32]*delta{}
	}
	d := t.deltas[depth][index]
	if d == nil {
		d = &delta{}
		t.deltas[depth][index] = d
	}
	return d
}

// settle adds the pending changes to all ancestors, deepest first, so that each ancestor is visited once however many
// of its descendants changed.
func (t *tree) settle() {
	for depth := len(t.deltas) - 1; depth >= 0; depth-- {
		for index, d := range t.deltas[depth] {
			if *d == (delta{}) {
				continue
			}
			n := &t.nodes[index]
			if n.counts == nil {
				n.counts = &[phases]int32{}
			}
			up := t.deltaOf(n.parent)
			for phase, count := range d.counts {
				n.counts[phase] += count
				if up != nil {
					up.counts[phase] += count
				}
			}
			n.below += d.match
			if up != nil {
				up.match += d.match
			}
			t.touched[index] = struct{}{}
		}
		t.deltas[depth] = nil
	}
}

// due returns the nodes to send, parents before children. Without counts, it leaves nodes that the client has and of
// which only the counts below changed to a later call.
func (t *tree) due(counts bool) []int32 {
	t.settle()
	var out []int32
	for index := range t.touched {
		n := &t.nodes[index]
		if !counts && n.sent && !n.stale && t.visible(index) {
			continue
		}
		delete(t.touched, index)
		if t.visible(index) || n.sent {
			out = append(out, index)
		}
	}
	slices.Sort(out)
	return out
}

// visible reports whether the client sees an action: it or an action below it passes the filter.
func (t *tree) visible(index int32) bool {
	n := &t.nodes[index]
	return t.filter.all() || n.match || n.below > 0
}

// told records what the client was sent.
func (t *tree) told(index int32) {
	n := &t.nodes[index]
	n.sent, n.stale = t.visible(index), false
}

// pending reports whether there are nodes to send.
func (t *tree) pending() bool {
	if len(t.touched) > 0 {
		return true
	}
	for _, deltas := range t.deltas {
		if len(deltas) > 0 {
			return true
		}
	}
	return false
}

// bounded counts a phase that this version does not know, as a newer replica may write it, as unspecified.
func bounded(phase int16) int16 {
	if phase < 0 || phase >= phases {
		return 0
	}
	return phase
}

func toInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// countsBelow returns the non-zero numbers of descendants by phase.
func (t *tree) countsBelow(index int32) map[int32]int32 {
	counts := t.nodes[index].counts
	if counts == nil {
		return nil
	}
	out := map[int32]int32{}
	for phase, count := range counts {
		if count > 0 {
			out[int32(phase)] = count
		}
	}
	return out
}
