package process

import (
	"path/filepath"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// Use is what the processes of a container use.
type Use struct {
	// CPU is the processor time since the start of the container, with that of processes that have ended.
	CPU time.Duration
	// Memory is what only the end of the processes gives back, in bytes.
	Memory int64
}

// Use is what the processes of a container use now. ok is false when it does not run, or where that cannot be measured.
func (t Table) Use(p *Process) (use Use, ok bool) {
	state := p.State()
	if state.Phase != shim.Running || len(t.processes) == 0 {
		return use, false
	}
	members := t.below(state.ShimPID)
	for _, pid := range members {
		use.CPU += t.processes[pid].spent + t.processes[pid].reaped
		// What a warm parent has loaded is in all of its forks, and only once in memory.
		use.Memory += heldBytes(pid, state.Warm)
	}
	use.CPU += t.processes[state.ShimPID].reaped
	if state.Cgroup != "" {
		if spent, known := microseconds(filepath.Join(state.Cgroup, "cpu.stat"), "usage_usec "); known {
			use.CPU = spent
		}
	}
	return use, len(members) > 0
}

// Table has the processes of the machine at one time.
type Table struct {
	processes map[int]times
	children  map[int][]int
}

// times is the processor time of a process, and of those of its children that have ended.
type times struct{ spent, reaped time.Duration }

// below lists the processes below one.
func (t Table) below(root int) (all []int) {
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		all = append(all, t.children[queue[0]]...)
		queue = append(queue, t.children[queue[0]]...)
	}
	return all
}
