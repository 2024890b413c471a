package store

import "sync"

// Gate is the number of task actions that the writer may admit in the same transaction that records them. Admission
// sets it from counts; the writer adjusts it between counts. The zero value is closed.
type Gate struct {
	mu    sync.Mutex
	open  int64 // GUARDED_BY(mu)
	taken int64 // GUARDED_BY(mu): places that commits have taken, less those that they have freed
}

// Taken is what Set must be given with a count that begins now.
func (g *Gate) Taken() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.taken
}

// Set replaces the number by one that rests on a count. taken is what Taken returned before the count: places that commits
// took meanwhile may be missing in it. 0 or less closes the gate, so that every action goes through the queue.
func (g *Gate) Set(open, taken int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open - max(0, g.taken-taken)
}

// Close makes every action go through the queue.
func (g *Gate) Close() { g.Set(0, 0) }

// Open returns how many actions may still be admitted.
func (g *Gate) Open() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// add adjusts the number after a commit. A gate that admission has closed stays closed.
func (g *Gate) add(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken -= n
	if g.open > 0 {
		g.open += n
	}
}
