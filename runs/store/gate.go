package store

import "sync/atomic"

// Gate is the number of task actions that the writer may admit in the same transaction that records them. Admission
// sets it from counts; the writer adjusts it between counts. The zero value is closed.
type Gate struct{ open atomic.Int64 }

// Set replaces the number. 0 or less closes the gate, so that every action goes through the queue.
func (g *Gate) Set(n int64) { g.open.Store(n) }

// Open returns how many actions may still be admitted.
func (g *Gate) Open() int64 { return g.open.Load() }

// add adjusts the number after a commit. A gate that admission has closed stays closed.
func (g *Gate) add(n int64) {
	for {
		open := g.open.Load()
		if open <= 0 {
			return
		}
		if g.open.CompareAndSwap(open, open+n) {
			return
		}
	}
}
