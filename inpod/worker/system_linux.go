package worker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canFork reports whether attempts may be forked from a server. Elsewhere than on Linux it is not known to be safe.
const canFork = true

// monotonic is a clock that continues while the machine is suspended: so does the lease.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err) // every supported kernel has it
	}
	return time.Duration(now.Nano())
}

func changed(stat *syscall.Stat_t) (int64, int64) { return stat.Ctim.Sec, stat.Ctim.Nsec }

// adoptOrphans makes this process the parent of processes whose parent has ended.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphaned processes: %w", err)
	}
	return nil
}

// killOrphans ends the children of this process that are not its own, with everything below them.
func killOrphans(own func(pid int) bool) {
	for range 100 { // what is being killed may still fork
		left := false
		for _, pid := range childrenOf(os.Getpid()) {
			if !own(pid) {
				left = true
				killTree(pid)
				_, _ = syscall.Wait4(pid, nil, 0, nil)
			}
		}
		if !left {
			return
		}
	}
}

// killTree kills a process and everything below it, from the leaves up: a child whose parent is gone would no longer be
// found below it.
func killTree(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it must not fork meanwhile
	for _, child := range childrenOf(pid) {
		killTree(child)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// childrenOf are the children of all threads of a process. The files exist in kernels with CONFIG_PROC_CHILDREN, as
// distributions have it.
func childrenOf(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var found []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil && !slices.Contains(found, child) {
				found = append(found, child)
			}
		}
	}
	return found
}

// forkedOnly is the flag of a process that was forked and has not executed a program (PF_FORKNOEXEC).
const forkedOnly = 0x40

// neverExecuted reports whether a child that was started has ended before it ran its program. Until then it is in the group of this
// process, with this process's mask of signals, and a signal to the group ends it. os/exec takes that for a start.
func neverExecuted(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	words := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name may have spaces and brackets
	if len(words) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(words[6], 10, 64)
	return err == nil && flags&forkedOnly != 0
}

// memoryKills counts the OOM kills in this container's cgroup (v2) and on the whole machine.
func memoryKills() kills {
	return kills{container: ofCgroup(), machine: oomKills("/proc/vmstat")}
}

// ofCgroup reads the count of the container's own cgroup; -1 with cgroup v1, which has no such file.
func ofCgroup() int64 {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return -1
	}
	path, found := strings.CutPrefix(strings.TrimSpace(string(own)), "0::")
	if !found {
		return -1
	}
	if n := oomKills(filepath.Join("/sys/fs/cgroup", path, "memory.events")); n >= 0 {
		return n
	}
	return oomKills("/sys/fs/cgroup/memory.events") // the cgroup is mounted as the root
}

// oomKills reads the counter oom_kill of a file of the kernel; -1 if there is none.
func oomKills(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "oom_kill" {
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
