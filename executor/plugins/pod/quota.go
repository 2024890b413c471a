package pod

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// How long a pod waits for its namespace's quota before the next try: the pause doubles.
const (
	quotaPause    = time.Second
	maxQuotaPause = 30 * time.Second
)

// refusals counts how often the quota kept an attempt's pod from being made. It may be lost with the process.
type refusals struct {
	mu    sync.Mutex
	tries map[types.NamespacedName]int // GUARDED_BY(mu): until the pod is made or the attempt is removed
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

// awaitQuota says that the pod has to wait for others to end, which costs nobody an attempt. The words change only as
// long as the pause grows, so that waiting for long is no news; the real pause varies by a quarter.
func (p *Plugin) awaitQuota(attempt *plugin.Attempt, refusal error) plugin.State {
	tries := p.refused.add(podKey(attempt))
	pause := maxQuotaPause
	if shift := tries - 1; shift < 10 && quotaPause<<shift < maxQuotaPause {
		pause = quotaPause << shift
	}
	return plugin.State{
		Phase:   common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
		Reason:  "QuotaExceeded",
		Message: fmt.Sprintf("the namespace's quota is used up, next try in about %.0f s; it costs no attempt: %v", pause.Seconds(), refusal),
		Recheck: pause*3/4 + rand.N(pause/2), //nolint:gosec // spreads load
	}
}
