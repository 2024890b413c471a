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
	seen  bool // in a cache or at the API server, after it was made
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

func (c *created) see(key types.NamespacedName, owner, pod types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[key] = birth{owner: owner, pod: pod, seen: true}
}

func (c *created) remove(key types.NamespacedName, owner types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[key].owner == owner {
		delete(c.pods, key)
	}
}

// Live is the number of pods that are remembered.
func (p *Plugin) Live() int {
	p.created.mu.Lock()
	defer p.created.mu.Unlock()
	return len(p.created.pods)
}
