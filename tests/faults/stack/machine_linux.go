package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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
