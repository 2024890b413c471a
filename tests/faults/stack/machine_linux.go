package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// smallStore is the size of the object store's disk, so that it can be filled.
const smallStore = 256 << 20

// mountSmall gives a directory a small disk of its own, if we may.
func mountSmall(dir string) bool {
	return os.Geteuid() == 0 && syscall.Mount("storm", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", smallStore)) == nil
}

func unmount(dir string) { _ = syscall.Unmount(dir, syscall.MNT_DETACH) } // it goes with its contents

// processesOf finds the processes that run a program.
func processesOf(program string) []int {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil
	}
	var found []int
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || strings.TrimSuffix(target, " (deleted)") != program {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// Memory is the resident memory of a process in bytes; 0 where it is unknown.
func Memory(pid int) int64 {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(body))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// ticks is how many units of processor time a second has in /proc; the kernel's interface fixes it.
const ticks = 100

// Processor is the processor time that this process has used, everything below it, and what has ended there.
func Processor() time.Duration {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	children, used := map[int][]int{}, map[int]time.Duration{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, time, ok := processorOf(pid); ok {
			children[parent], used[pid] = append(children[parent], pid), time
		}
	}
	var all time.Duration
	for queue := []int{os.Getpid()}; len(queue) > 0; queue = queue[1:] {
		all += used[queue[0]]
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

func processorOf(pid int) (parent int, used time.Duration, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false // it has ended
	}
	// The name in parentheses may contain anything. After it come the state, the parent, and at the 12th place the times of the process
	// and of the children that it has waited for, in the user's mode and in the kernel's.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const parentField, firstTime, lastTime = 1, 11, 14
	if len(fields) <= lastTime {
		return 0, 0, false
	}
	if parent, err = strconv.Atoi(fields[parentField]); err != nil {
		return 0, 0, false
	}
	for _, field := range fields[firstTime : lastTime+1] {
		value, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, false
		}
		used += time.Duration(value) * time.Second / ticks
	}
	return parent, used, true
}
