package store

import "sync/atomic"

// Gate says how many task actions the writer may admit in the very transaction that records them. Admission sets
// it from counts; the writer keeps it up to date between counts. The zero value is shut.
type Gate struct{ open atomic.Int64 }

// Set replaces the number; 0 or less shuts the gate, so that everything goes through the queue.
func (g *Gate) Set(n int64) { g.open.Store(n) }

// Open is how many may still be admitted.
func (g *Gate) Open() int64 { return g.open.Load() }

// add corrects the number after a commit. A gate that admission has shut stays shut.
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
