package watch

import (
	"sort"

	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// ring keeps the newest changes of a run, in order, within bounds.
type ring struct {
	maxCount, maxBytes int

	changes []watches.Change // oldest first from head on
	head    int
	bytes   int
	dropped int64 // seq of the newest change that is gone; 0 when none is
}

// rowOverhead is about what a row takes besides its blobs.
const rowOverhead = 800

func size(change watches.Change) int {
	return rowOverhead + len(change.Row.Error) + len(change.Row.Signal)
}

func (r *ring) add(change watches.Change) {
	r.changes = append(r.changes, change)
	r.bytes += size(change)
	// The newest change stays, however large it is.
	for n := len(r.changes) - r.head; n > r.maxCount || r.bytes > r.maxBytes && n > 1; n-- {
		oldest := r.changes[r.head]
		r.dropped = oldest.Seq
		r.bytes -= size(oldest)
		r.changes[r.head] = watches.Change{} // lets the row go
		r.head++
	}
	// The array is shifted when more than half of it is unused, which is once for many changes.
	if r.head > len(r.changes)/2 && r.head > 64 {
		kept := copy(r.changes, r.changes[r.head:])
		clear(r.changes[kept:])
		r.changes, r.head = r.changes[:kept], 0
	}
}

// from visits the changes from a seq on. The caller has checked that none of them was dropped.
func (r *ring) from(seq int64, visit func(watches.Change)) {
	kept := r.changes[r.head:]
	first := sort.Search(len(kept), func(i int) bool { return kept[i].Seq >= seq })
	for _, change := range kept[first:] {
		visit(change)
	}
}
