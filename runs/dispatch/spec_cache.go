package dispatch

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// specCache keeps encoded specs by digest, the most recently used ones, at most bound bytes of them. It is safe for
// concurrent use. The library bounds entries; specs differ in size by orders of magnitude, so their bytes are counted
// here.
type specCache struct {
	bound int

	mu     sync.Mutex
	recent *simplelru.LRU[string, []byte] // GUARDED_BY(mu)
	size   int                            // GUARDED_BY(mu): bytes of recent
}

func newSpecCache(bound int) *specCache {
	c := &specCache{bound: bound}
	evicted := func(_ string, body []byte) { c.size -= len(body) }
	recent, err := simplelru.NewLRU(math.MaxInt, evicted)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	c.recent = recent
	return c
}

func (c *specCache) get(digest string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Get(digest)
}

// put keeps a body, unless it is larger than the whole cache may be.
func (c *specCache) put(digest string, body []byte) {
	if len(body) > c.bound {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent.Contains(digest) {
		return // a digest has one body
	}
	c.recent.Add(digest, body)
	c.size += len(body)
	for c.size > c.bound {
		c.recent.RemoveOldest()
	}
}
