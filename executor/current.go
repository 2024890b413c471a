package executor

import (
	"maps"
	"slices"
	"sync"

	"github.com/flyte-binary/flyte-binary/executor/reconciler"
)

// current are the reconcilers that run, by shard. The zero value has none.
type current struct {
	mu      sync.Mutex
	byShard map[int]*reconciler.Reconciler // GUARDED_BY(mu)
}

// set notes the reconciler of a shard; nil means that it has stopped.
func (c *current) set(shard int, one *reconciler.Reconciler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byShard == nil {
		c.byShard = map[int]*reconciler.Reconciler{}
	}
	c.byShard[shard] = one
	if one == nil {
		delete(c.byShard, shard)
	}
}

// of is the reconciler of a shard; nil while there is none.
func (c *current) of(shard int) *reconciler.Reconciler {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byShard[shard]
}

func (c *current) all() []*reconciler.Reconciler {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.byShard))
}
