package shim

import (
	"time"
)

// treeEvery is the number of checks of the first process for each check of the whole tree, which costs more.
const treeEvery = 4

// watchMemory ends the container when its processes together hold more memory than allowed. It is for machines where
// the kernel does not do so itself. Address-space limits are no substitute: interpreters reserve far more than they use.
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
	for look := 0; ; look++ {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		used := heldBytes(pid)
		if look%treeEvery == 0 && used <= s.spec.MemoryBytes {
			used = s.treeBytes(used)
		}
		if used <= s.spec.MemoryBytes {
			continue
		}
		s.oom.Store(true)
		s.killEach(pid)
		return
	}
}

// treeBytes is the memory of all processes. A page that a parent shares with its forks is in the sum once per process, so
// the costlier exact measure is taken only when the sum exceeds the limit.
func (s *supervisor) treeBytes(first int64) int64 {
	pids := s.members()
	if len(pids) <= 1 {
		return first
	}
	var sum int64
	for _, pid := range pids {
		sum += heldBytes(pid)
	}
	if sum <= s.spec.MemoryBytes {
		return sum
	}
	var exact int64
	for _, pid := range pids {
		exact += shareBytes(pid)
	}
	return exact
}
