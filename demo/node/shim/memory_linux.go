package shim

import (
	"os"
	"strconv"
	"strings"
)

const canMeasure = true

// heldBytes is the memory of a process that only a kill gives back: anonymous pages, shared memory and what is swapped out.
// Pages of files, such as those of libraries, are not counted: where the kernel enforces a limit, it drops them before it
// kills a process. 0 when the process is gone.
func heldBytes(pid int) int64 {
	return sumKiB("/proc/"+strconv.Itoa(pid)+"/status", "RssAnon:", "RssShmem:", "VmSwap:")
}

// shareBytes is heldBytes with each page divided among the processes that share it. The kernel walks all pages for it.
func shareBytes(pid int) int64 {
	shared := sumKiB("/proc/"+strconv.Itoa(pid)+"/smaps_rollup", "Pss_Anon:", "Pss_Shmem:", "SwapPss:")
	if shared == 0 {
		return heldBytes(pid) // the file is not for us
	}
	return shared
}

// walkedBytes is heldBytes as it is, where the kernel's counters may lag behind by some pages for each processor.
func walkedBytes(pid int) int64 {
	walked := sumKiB("/proc/"+strconv.Itoa(pid)+"/smaps_rollup", "Anonymous:", "Pss_Shmem:", "Swap:")
	if walked == 0 {
		return heldBytes(pid) // the file is not for us
	}
	return walked
}

// imageOf tells the programs of processes apart: forks have that of their parent, and one that executes a program gets another. It
// is the kernel's auxiliary vector, in which some values are random. Empty when the process is gone or cannot be read.
func imageOf(pid int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/auxv")
	if err != nil {
		return ""
	}
	return string(raw)
}

// HeldBytes is the memory of a process that only its end gives back. With shared, each page is divided among the processes that have it,
// for which the kernel walks all pages. 0 when the process is gone.
func HeldBytes(pid int, shared bool) int64 {
	if shared {
		return shareBytes(pid)
	}
	return heldBytes(pid)
}

// sumKiB adds the values of some fields of a file with lines `<name> <number> kB`, in bytes.
func sumKiB(path string, names ...string) int64 {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	var sum int64
	for line := range strings.Lines(string(raw)) {
		for _, name := range names {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				sum += kib << 10
			}
		}
	}
	return sum
}

// kernelKills returns the number of OOM kills on this machine; -1 if unknown.
func kernelKills() int64 {
	raw, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
