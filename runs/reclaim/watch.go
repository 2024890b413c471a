package reclaim

import (
	"time"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

// slack is how much faster than this process the age of a cluster's last word may grow before the clock of the database counts as set.
const slack = 5 * time.Second

// lag is how much later than the loop others may see how the clusters are: before it is over, placement could choose a cluster again
// from which an attempt was taken.
const lag = 3 * time.Second

// watch remembers what one holder of the lease has seen of each cluster. It trusts no single reading of a clock: a cluster is away if it
// was so at each look for a while, and lost if it was away for the policy's time by two clocks.
type watch struct {
	settle, pause time.Duration
	begun, last   time.Time // when watching began without a gap, and the last look
	away          map[string]absence
}

// absence is what was seen of a cluster that is away.
type absence struct {
	observed time.Duration // for how long this process has seen it away
	age      time.Duration // of its last word, by the clock of the database
	jumped   bool          // that clock was set meanwhile
}

func newWatch(config Config) *watch {
	return &watch{settle: config.Settle, pause: config.Poll, away: map[string]absence{}}
}

// look takes the states of all clusters at a time.
func (w *watch) look(all []states.State, now time.Time) {
	passed := now.Sub(w.last)
	// A gap says nothing about clusters: the process or the database stood still, or the clock was set.
	if w.last.IsZero() || passed < 0 || passed > 3*w.pause+slack {
		w.begun, passed = now, 0
	}
	w.last = now
	away := make(map[string]absence, len(w.away))
	for _, one := range all {
		if !one.Away(now) {
			continue
		}
		age := now.Sub(one.SeenAt)
		seen, known := w.away[one.Name]
		if known {
			seen.observed += passed
			seen.jumped = seen.jumped || age-seen.age > passed+slack
		}
		seen.age = age
		away[one.Name] = seen
	}
	w.away = away
}

// settled reports whether the clusters have been watched for long enough to take anything back.
func (w *watch) settled() bool { return w.last.Sub(w.begun) >= w.settle }

// isAway reports whether a cluster is away, as far as this process can tell.
func (w *watch) isAway(name string) bool {
	seen, away := w.away[name]
	return away && seen.observed >= lag && w.settled()
}

// isLost reports whether a cluster has been away for a time. What the database says counts, for the holder of the lease may have changed
// meanwhile, unless its clock was set.
func (w *watch) isLost(name string, after time.Duration) bool {
	seen := w.away[name]
	if after <= 0 || !w.isAway(name) || seen.observed < w.settle {
		return false
	}
	return seen.observed >= after || !seen.jumped && seen.age >= after
}
