package measure

import (
	"time"

	"github.com/flyte-binary/flyte-binary/pods/nodestats"
)

// usagesOf are the uses of the pods of a summary, by UID.
func usagesOf(s nodestats.Summary) map[string]usage {
	all := make(map[string]usage, len(s.Pods))
	for i := range s.Pods {
		if one := usageOf(&s.Pods[i]); !one.at.IsZero() {
			all[s.Pods[i].Pod.UID] = one
		}
	}
	return all
}

// usage is what a pod uses. Amounts are nil where they are not known.
type usage struct {
	at        time.Time // of the newest measurement
	since     time.Time // when the time begins for which rate or total counts; zero where that is not known
	rate      *uint64   // nanoseconds of processors for each second
	total     *uint64   // nanoseconds of processors so far
	memory    *uint64   // bytes
	disk      *uint64   // bytes
	gpu       *uint64   // percent, summed over GPUs
	gpuMemory *uint64   // bytes
}

func usageOf(p *nodestats.Pod) (sum usage) {
	for i := range p.Containers {
		c := &p.Containers[i]
		if i == 0 || c.Started.Before(sum.since) { // one that is not known makes all unknown
			sum.since = c.Started
		}
		if c.CPU != nil {
			sum.at = later(sum.at, c.CPU.Time)
			add(&sum.rate, c.CPU.Nanos)
			add(&sum.total, c.CPU.Total)
		}
		if c.Memory != nil {
			sum.at = later(sum.at, c.Memory.Time)
			add(&sum.memory, c.Memory.WorkingSet)
		}
		for k := range c.Accelerators {
			add(&sum.gpu, &c.Accelerators[k].DutyCycle)
			add(&sum.gpuMemory, &c.Accelerators[k].MemoryUsed)
		}
	}
	if p.Disk != nil {
		add(&sum.disk, p.Disk.Used)
	}
	return sum
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// add adds an amount to a sum; one that is not known adds nothing.
func add(sum **uint64, amount *uint64) {
	if amount == nil {
		return
	}
	value := *amount
	if *sum != nil {
		value += **sum
	}
	*sum = &value
}
