// Package recent caches values by key, within a number of bytes.
package recent

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps the most recently used values whose sizes add up to at most a bound. It is safe for concurrent use. The
// library bounds entries; what we keep differs in size by orders of magnitude, so bytes are counted here.
type Cache[K comparable, V any] struct {
	bound  int
	sizeOf func(V) int

	mu     sync.Mutex
	recent *simplelru.LRU[K, V] // GUARDED_BY(mu)
	size   int                  // GUARDED_BY(mu): bytes of recent
}

// New returns an empty cache of at most bound bytes. sizeOf returns the size of a value in bytes, always the same.
func New[K comparable, V any](bound int, sizeOf func(V) int) *Cache[K, V] {
	c := &Cache[K, V]{bound: bound, sizeOf: sizeOf}
	evicted := func(_ K, value V) { c.size -= sizeOf(value) }
	recent, err := simplelru.NewLRU(math.MaxInt, evicted)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	c.recent = recent
	return c
}

// Get returns the value of a key, and whether there is one.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Get(key)
}

// Put keeps a value, unless it is larger than the whole cache may be, or the key has a value: a key always means the
// same value.
func (c *Cache[K, V]) Put(key K, value V) {
	size := c.sizeOf(value)
	if size > c.bound {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent.Contains(key) {
		return
	}
	c.recent.Add(key, value)
	c.size += size
	for c.size > c.bound {
		c.recent.RemoveOldest()
	}
}

// Size is how many bytes the kept values have.
func (c *Cache[K, V]) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Len is how many values are kept.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}
