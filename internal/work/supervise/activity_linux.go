package supervise

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// ticks is how many units of processor time a second has in /proc; the kernel's interface fixes it.
const ticks = 100

// activity is that of the program and of everything that it has started.
func (p *Process) activity() (activity, bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return activity{}, false
	}
	children, stats := map[int][]int{}, map[int]procStat{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if stat, ok := readStat(pid); ok {
				children[stat.parent] = append(children[stat.parent], pid)
				stats[pid] = stat
			}
		}
	}
	var all activity
	for queue := []int{p.Pid()}; len(queue) > 0; queue = queue[1:] {
		stat := stats[queue[0]]
		all.cpu += stat.cpu
		all.diskWait = all.diskWait || stat.state == "D"
		queue = append(queue, children[queue[0]]...)
	}
	return all, true
}

// procStat is what /proc has about one process.
type procStat struct {
	state  string
	parent int
	cpu    time.Duration // with that of the children that it has waited for
}

func readStat(pid int) (procStat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false // it has ended
	}
	// The name in parentheses may contain anything; state and parent follow it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const stateField, parentField, firstTime, lastTime = 0, 1, 11, 14
	if len(fields) <= lastTime {
		return procStat{}, false
	}
	stat := procStat{state: fields[stateField]}
	if stat.parent, err = strconv.Atoi(fields[parentField]); err != nil {
		return procStat{}, false
	}
	for _, field := range fields[firstTime : lastTime+1] {
		value, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return procStat{}, false
		}
		stat.cpu += time.Duration(value) * time.Second / ticks
	}
	return stat, true
}
