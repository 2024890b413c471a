package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// collectEvery is the pause between two collections of environments.
const collectEvery = 10 * time.Minute

// collect removes environments that are no longer used, until the node stops.
func (n *Node) collect() {
	for {
		removed, err := n.cfg.Made.Collect(n.cfg.Keep, n.uses)
		if err != nil {
			n.log.Warn().Err(err).Msg("cannot remove environments")
		}
		if len(removed) > 0 {
			n.log.Info().Strs("tags", removed).Msg("removed unused environments")
		}
		if clock.Sleep(n.ctx, n.clk, collectEvery) != nil {
			return
		}
	}
}

// uses reports whether a pod of this node that has not ended names the image of an environment.
func (n *Node) uses(tag string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.workers {
		pod := w.pod()
		if terminal(pod) {
			continue
		}
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				if imageOf(pod, containers[i].Image).Uses(tag) {
					return true
				}
			}
		}
	}
	return false
}
