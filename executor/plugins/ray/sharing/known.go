package sharing

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
)

// fresh is how long what was read of a cluster serves all of its attempts.
const fresh = 5 * time.Second

// seen is what was read of a cluster, and when.
type seen struct {
	cluster rayclusters.State
	at      time.Time
}

// known are the clusters that were read lately.
type known struct {
	mu     sync.Mutex
	states map[types.NamespacedName]seen // GUARDED_BY(mu)
}

func (k *known) get(key types.NamespacedName, now time.Time) (rayclusters.State, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, found := k.states[key]
	age := now.Sub(one.at)
	return one.cluster, found && age >= 0 && age < fresh
}

// put remembers a cluster, and forgets those that no one has asked for.
func (k *known) put(key types.NamespacedName, cluster rayclusters.State, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, one := range k.states {
		if age := now.Sub(one.at); age < 0 || age >= fresh {
			delete(k.states, other)
		}
	}
	k.states[key] = seen{cluster: cluster, at: now}
}

func (k *known) forget(key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.states, key)
}

// Look returns the cluster that an attempt uses as it was at most five seconds ago. Another one of the same name is always as it is now:
// what was read before may be about its predecessor.
func (k *Keeper) Look(ctx context.Context, key types.NamespacedName, uid types.UID) (rayclusters.State, error) {
	now := k.clock.Now()
	if found, ok := k.known.get(key, now); ok && found.UID == uid && !found.Ending {
		return found, nil
	}
	cluster, err := k.clusters.Read(ctx, key)
	if err == nil {
		k.known.put(key, cluster, now)
	}
	return cluster, err
}
