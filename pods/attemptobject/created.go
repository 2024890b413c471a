package attemptobject

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// created remembers the objects of live attempts that this process created or saw, so that a stale cache is
// not mistaken for a deleted object.
type created struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]birth // GUARDED_BY(mu): until Remove
}

type birth struct {
	owner  types.UID
	object types.UID
	// version is that of the object when it was created.
	version string
	at      time.Time
	seen    bool // in a cache or at the API server, after it was created
}

func (c *created) get(key types.NamespacedName, owner types.UID) (birth, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	born, ok := c.objects[key]
	return born, ok && born.owner == owner
}

func (c *created) add(key types.NamespacedName, owner types.UID, born birth) {
	c.mu.Lock()
	defer c.mu.Unlock()
	born.owner = owner
	c.objects[key] = born
}

func (c *created) see(key types.NamespacedName, owner, object types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[key] = birth{owner: owner, object: object, seen: true}
}

func (c *created) remove(key types.NamespacedName, owner types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[key].owner == owner {
		delete(c.objects, key)
	}
}

func (c *created) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.objects)
}
