package attemptobject

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// The pause before the next try when the namespace's quota is exhausted. It doubles each time.
const (
	quotaPause    = time.Second
	maxQuotaPause = 30 * time.Second
)

// refusals counts how often the quota kept an attempt's object from being created. A restart resets it.
type refusals struct {
	mu    sync.Mutex
	tries map[types.NamespacedName]int // GUARDED_BY(mu): until the object is created or the attempt is removed
}

func (r *refusals) add(key types.NamespacedName) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries[key]++
	return r.tries[key]
}

func (r *refusals) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tries, key)
}

// awaitQuota returns the state of an attempt that waits for others to end, which consumes no attempt. The message names
// the base of the pause and not the random part, so that it changes, and is reported, only while the pause grows.
func (k *Keeper[T]) awaitQuota(key types.NamespacedName, refused error) plugin.State {
	tries := k.refusals.add(key)
	pause := maxQuotaPause
	if shift := tries - 1; shift < 10 && quotaPause<<shift < maxQuotaPause {
		pause = quotaPause << shift
	}
	return plugin.State{
		Phase:   common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
		Reason:  "QuotaExceeded",
		Message: sentence.Say("the quota of the namespace is exhausted; retrying in about %.0f s, which does not count as an attempt: %v", pause.Seconds(), refused),
		Recheck: pause*3/4 + rand.N(pause/2), //nolint:gosec // spreads load
	}
}
