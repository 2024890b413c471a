package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc; on Linux it is always a hundredth of a second.
const tick = 10 * time.Millisecond

// CPUOf is the CPU time that a process has used, without its children.
func CPUOf(pid int) (time.Duration, error) { return times(pid, 11, 13) }

// times adds up CPU times: 11 and 12 are the process's own, 13 and 14 those of its children that have ended.
func times(pid, from, to int) (time.Duration, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, field := range fields[from:to] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		total += time.Duration(n) * tick
	}
	return total, nil
}

// CPUOfTree is CPUOf with the children, running and ended, such as those of Postgres.
func CPUOfTree(parent int) (time.Duration, error) {
	total, err := times(parent, 11, 15)
	if err != nil {
		return 0, err
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		fields, err := statOf(pid)
		if err != nil || fields[1] != strconv.Itoa(parent) {
			continue // it may have ended meanwhile
		}
		if own, err := CPUOf(pid); err == nil {
			total += own
		}
	}
	return total, nil
}

// statOf reads /proc/PID/stat from its third field, the state, on; the second, a name, may have spaces.
func statOf(pid int) ([]string, error) {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(body), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 15 {
		return nil, fmt.Errorf("process %d: unknown format of /proc", pid)
	}
	return fields, nil
}

// Busy is the CPU time that the whole machine has spent on anything.
func Busy() (time.Duration, error) {
	body, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(body), "\n")
	fields := strings.Fields(line)
	if len(fields) < 8 {
		return 0, fmt.Errorf("unknown format of /proc/stat")
	}
	var total time.Duration
	for i, field := range fields[1:8] { // user nice system idle iowait irq softirq
		if i == 3 || i == 4 {
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		total += time.Duration(n) * tick
	}
	return total, nil
}

// MemoryOf is the resident memory of a process now and at its highest since ResetPeak, in MiB.
func MemoryOf(pid int) (now, peak float64, err error) {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(body)) {
		var kib float64
		switch name, rest, _ := strings.Cut(line, ":"); name {
		case "VmRSS", "VmHWM":
			if _, err := fmt.Sscanf(rest, "%g kB", &kib); err != nil {
				return 0, 0, fmt.Errorf("memory of process %d: %w", pid, err)
			}
			if name == "VmRSS" {
				now = kib / 1024
			} else {
				peak = kib / 1024
			}
		}
	}
	return now, peak, nil
}

// ResetPeak restarts the measurement of the peak: 5 is what the kernel takes for that (proc(5), clear_refs).
func ResetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
