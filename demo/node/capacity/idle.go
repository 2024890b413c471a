package capacity

import (
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Thresholds of idleness: pods use less than half of what they may, and rarely have to wait for a processor.
const (
	idleUse  = 0.5
	idleWait = 0.4
)

// Idleness measures whether the running pods are idle. With cgroups it measures the pods alone, so that other load on the
// machine does not count; otherwise the whole machine must be idle.
type Idleness struct {
	// Cpus is how many processors pods may use.
	Cpus float64
	Clk  clock.Clock

	// What the last call saw: Used and Waited of the pods, idle and total of the machine.
	at           time.Time
	Used, Waited time.Duration
	idle, total  uint64
}

// Look reports whether the pods were idle since the last call.
func (i *Idleness) Look(groups *process.Cgroups) bool {
	if used, waited, ok := groups.CPU(); ok {
		return i.Pods(used, waited)
	}
	return i.machine()
}

// Pods reports whether the pods were idle since the last call, by the processor time that they have used and the time
// that they have waited for processors, since they began. The first call only remembers.
func (i *Idleness) Pods(used, waited time.Duration) bool {
	now := i.Clk.Now()
	window := float64(now.Sub(i.at))
	first := i.at.IsZero()
	use, wait := float64(used-i.Used)/(window*i.Cpus), float64(waited-i.Waited)/window
	i.at, i.Used, i.Waited = now, used, waited
	return !first && window > 0 && use < idleUse && wait < idleWait
}

// machine is the same for all processes of the machine, where pods have no cgroups.
func (i *Idleness) machine() bool {
	idle, total, ok := cpuTimes()
	if !ok {
		return false
	}
	sinceIdle, since := idle-i.idle, total-i.total
	first := i.total == 0
	i.idle, i.total = idle, total
	return !first && since > 0 && float64(sinceIdle) >= (1-idleUse)*float64(since)
}
