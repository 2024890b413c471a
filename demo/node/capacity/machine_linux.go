package capacity

import (
	"os"
	"strconv"
	"strings"
)

// MemoryDir is where files live in memory.
const MemoryDir = "/dev/shm"

// MachineMemory is the memory of the machine in bytes.
func MachineMemory() int64 { return meminfo("MemTotal:") }

// FreeMemory is what processes may still use without swapping; ok is false where that is unknown.
func FreeMemory() (bytes int64, ok bool) {
	bytes = meminfo("MemAvailable:")
	return bytes, bytes > 0
}

func meminfo(field string) int64 {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		rest, ok := strings.CutPrefix(line, field)
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}

// cpuTimes is the time that all processors have spent idle and altogether since boot, in ticks.
func cpuTimes() (idle, total uint64, ok bool) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0, 0, false
	}
	for i, field := range fields[1:] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, 0, false
		}
		if i == 3 || i == 4 { // idle, and waiting for disks
			idle += ticks
		}
		if i < 8 { // the guest times that follow are part of the first two
			total += ticks
		}
	}
	return idle, total, true
}
