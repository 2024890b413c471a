package pod

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// created remembers the pods of live attempts that this process made or saw, so that a cache that is behind is not
// taken for a pod that is gone, and the other way round.
type created struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]birth // GUARDED_BY(mu): until Remove
}

type birth struct {
	owner types.UID
	pod   types.UID
	at    time.Time
}

func (c *created) get(key types.NamespacedName, owner types.UID) (birth, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	born, ok := c.pods[key]
	return born, ok && born.owner == owner
}

func (c *created) add(key types.NamespacedName, owner types.UID, born birth) {
	c.mu.Lock()
	defer c.mu.Unlock()
	born.owner = owner
	c.pods[key] = born
}

func (c *created) remove(key types.NamespacedName, owner types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[key].owner == owner {
		delete(c.pods, key)
	}
}
