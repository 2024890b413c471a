package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Member is a process of a family, or several with the same name.
type Member struct {
	CPU       time.Duration // with that of children that have ended
	Memory    float64       // MiB; memory that several processes share counts in parts
	Anonymous float64       // MiB of Memory that is neither of a file nor shared on purpose: heaps and stacks
}

// Family is what a process and those that it started use, by the names that name gives to their command lines.
func Family(pid int, name func(arguments []string) string) (map[string]Member, error) {
	parents := map[int]int{}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		if fields, err := statOf(child); err == nil { // it may have ended meanwhile
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	found := map[string]Member{}
	for one := range parents {
		if !descends(parents, one, pid) {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", one))
		if err != nil {
			continue
		}
		cpu, err := times(one, 11, 15)
		if err != nil {
			continue
		}
		called := name(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"))
		had := found[called]
		all, anonymous := share(one)
		found[called] = Member{CPU: had.CPU + cpu, Memory: had.Memory + all, Anonymous: had.Anonymous + anonymous}
	}
	return found, nil
}

func descends(parents map[int]int, pid, from int) bool {
	for ; pid > 1; pid = parents[pid] {
		if pid == from {
			return true
		}
	}
	return false
}

// share is the memory of a process, with its share of what it shares, and the anonymous part of it, in MiB; 0 if the process has ended.
func share(pid int) (all, anonymous float64) {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(body)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "Pss: %g kB", &kib); err == nil {
			all = kib / 1024
		} else if _, err := fmt.Sscanf(line, "Pss_Anon: %g kB", &kib); err == nil {
			anonymous = kib / 1024
		}
	}
	return all, anonymous
}
