package gateway

import (
	"math/bits"
	"slices"
	"sync"
	"time"
)

const (
	// stale is the age at which the latency of a cluster is measured again, with one request.
	stale = time.Minute
	// step is the least difference in latency that counts; from there on, only twice as much does.
	step = 500 * time.Microsecond
)

// distances says how far clusters are: those of the configuration are near, others as far as it took to connect to them lately. It is
// safe for concurrent use.
type distances struct {
	near []string

	mu       sync.Mutex
	measured map[string]latency // GUARDED_BY(mu): by cluster
}

type latency struct {
	mean time.Duration // zero until it was measured
	at   time.Duration // of the process: when it was measured, or is being measured
	old  bool          // it is being measured again
}

func newDistances(near []string) *distances {
	return &distances{near: near, measured: map[string]latency{}}
}

// of is the distance of a cluster, for comparison only. One that is not known, or not of late, is close once, so that it is measured.
func (d *distances) of(cluster string, now time.Duration) int {
	if at := slices.Index(d.near, cluster); at >= 0 {
		return at - len(d.near)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.measured[cluster]
	if !ok || now-known.at >= stale {
		d.measured[cluster] = latency{known.mean, now, true}
		return 0
	}
	return bits.Len64(uint64(known.mean / step)) //nolint:gosec // not negative
}

// connected notes how long it took to connect to a cluster.
func (d *distances) connected(cluster string, took, now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	mean := max(took, 1)
	if known := d.measured[cluster]; known.mean > 0 && !known.old {
		mean = (3*known.mean + mean) / 4
	}
	d.measured[cluster] = latency{mean: mean, at: now}
}
