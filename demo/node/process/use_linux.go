package process

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// tick is the unit of times in /proc. The kernel has no other for programs.
const tick = 10 * time.Millisecond

func heldBytes(pid int, shared bool) int64 { return shim.HeldBytes(pid, shared) }

// Snapshot reads the processes of this machine.
func Snapshot() Table {
	t := Table{processes: map[int]times{}, children: map[int][]int{}}
	dir, err := os.Open("/proc")
	if err != nil {
		return t
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The second field may hold spaces and brackets.
		fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
		if len(fields) < 15 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			continue
		}
		t.processes[pid] = times{spent: ticks(fields[11]) + ticks(fields[12]), reaped: ticks(fields[13]) + ticks(fields[14])}
		t.children[parent] = append(t.children[parent], pid)
	}
	return t
}

func ticks(field []byte) time.Duration {
	number, _ := strconv.ParseInt(string(field), 10, 64)
	return time.Duration(number) * tick
}
