//go:build !linux

package capacity

import (
	"os/exec"
	"strconv"
	"strings"
)

// MemoryDir is where files live in memory: nowhere.
const MemoryDir = ""

// fallbackMemory is assumed where the machine's memory is unknown.
const fallbackMemory = 8 << 30

// MachineMemory is the memory of the machine in bytes.
func MachineMemory() int64 {
	out, err := exec.Command("sysctl", "-n", "hw.memsize").Output()
	if err != nil {
		return fallbackMemory
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || bytes <= 0 {
		return fallbackMemory
	}
	return bytes
}

// FreeMemory is not known here.
func FreeMemory() (bytes int64, ok bool) { return 0, false }

// cpuTimes is not known here.
func cpuTimes() (idle, total uint64, ok bool) { return 0, 0, false }
