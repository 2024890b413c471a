package shim

import (
	"time"
)

// treeEvery is the number of checks of the first process for each check of the whole tree, which costs more.
const treeEvery = 4

// watchMemory ends the container when its processes together hold more memory than allowed. It is for machines where
// the kernel does not do so itself. Address-space limits are not a substitute: interpreters reserve far more than they use.
func (s *supervisor) watchMemory(pid int, ended <-chan struct{}) {
	if s.spec.MemoryBytes <= 0 || s.spec.CgroupLimits || !canMeasure {
		return
	}
	interval := s.spec.MemoryInterval
	if interval <= 0 {
		interval = 250 * time.Millisecond
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	inherited := s.inherited()
	for look := 0; ; look++ {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		pids := []int{pid}
		if look%treeEvery == 0 {
			pids = s.members()
		}
		if inherited.roughly(pids) <= s.spec.MemoryBytes || inherited.exactly(s.members()) <= s.spec.MemoryBytes {
			continue
		}
		s.oom.Store(true)
		s.killEach(pid)
		return
	}
}

// inheritance is memory that processes hold because they were forked from a warm parent, and would not hold after a cold start: the
// packages that other tasks have used. A task is charged for what it adds, and for what a cold start would have.
type inheritance struct {
	bytes int64
	image string // of the program that the parent ran; a process that has executed another holds nothing of the parent's
}

func (s *supervisor) inherited() inheritance {
	if s.waiting == nil || !s.state.Warm {
		return inheritance{}
	}
	return s.waiting.inheritance
}

// of is what a process has inherited.
func (i inheritance) of(pid int) int64 {
	if i.bytes > 0 && i.image != "" && imageOf(pid) == i.image {
		return i.bytes
	}
	return 0
}

// roughly is the memory of the processes by the kernel's own counters, which may be too high: a page that a parent shares with its
// forks is in the sum once per process.
func (i inheritance) roughly(pids []int) int64 {
	var sum int64
	for _, pid := range pids {
		sum += max(0, heldBytes(pid)-i.of(pid))
	}
	return sum
}

// exactly is the memory of the processes with each page counted once. The kernel walks all pages for it.
func (i inheritance) exactly(pids []int) int64 {
	measure, sum, inherited := shareBytes, int64(0), int64(0)
	if len(pids) == 1 {
		measure = walkedBytes // what other tasks share with this one counts in full, as it would after a cold start
	}
	for _, pid := range pids {
		sum += measure(pid)
		inherited = max(inherited, i.of(pid))
	}
	return max(0, sum-inherited)
}
