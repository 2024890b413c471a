package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Cgroups is a cgroup v2 directory below which containers get their own. A nil *Cgroups gives none.
type Cgroups struct {
	dir    string
	memory bool // the kernel enforces memory limits here
}

// FindCgroups looks for a place where this process may create cgroups, and creates name there. It returns nil if there
// is none: on another system, in a container, or where the session was not given a subtree of its own.
func FindCgroups(name string) *Cgroups {
	root := cgroupRoot()
	if root == "" {
		return nil
	}
	own := ownCgroup()
	// A cgroup with processes in it cannot hand controllers down, so the one above is the better place; where it is
	// not ours, a cgroup below our own still helps to end processes together.
	for _, parent := range []string{filepath.Dir(own), own} {
		dir := filepath.Join(root, parent, name)
		if os.MkdirAll(dir, 0o755) != nil { //nolint:gosec // the kernel's own mode for cgroups
			continue
		}
		probe := filepath.Join(dir, "probe")
		_ = os.WriteFile(filepath.Join(root, parent, "cgroup.subtree_control"), []byte("+memory"), 0o600)
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory"), 0o600)
		if os.MkdirAll(probe, 0o755) != nil { //nolint:gosec // as above
			continue
		}
		_, limitErr := os.Stat(filepath.Join(probe, "memory.max"))
		_, killErr := os.Stat(filepath.Join(probe, "cgroup.kill"))
		_ = os.Remove(probe)
		if killErr == nil {
			return &Cgroups{dir: dir, memory: limitErr == nil}
		}
	}
	return nil
}

// Remove removes the directory once no container is left in it.
func (c *Cgroups) Remove() {
	if c != nil {
		removeCgroup(c.dir)
	}
}

// CPU is the time that containers have spent on processors, summed over them, and the time in which one of them had to
// wait for one. ok is false where that is not known.
func (c *Cgroups) CPU() (used, waited time.Duration, ok bool) {
	if c == nil {
		return 0, 0, false
	}
	used, ok = microseconds(filepath.Join(c.dir, "cpu.stat"), "usage_usec ")
	if !ok {
		return 0, 0, false
	}
	waited, ok = microseconds(filepath.Join(c.dir, "cpu.pressure"), "total=")
	return used, waited, ok
}

// microseconds reads the number after the first occurrence of a name.
func microseconds(path, name string) (time.Duration, bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	_, rest, found := strings.Cut(string(raw), name)
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, false
	}
	value, err := strconv.ParseInt(fields[0], 10, 64)
	return time.Duration(value) * time.Microsecond, err == nil
}

// make creates the cgroup of a container and reports whether the kernel enforces the limit there.
func (c *Cgroups) make(id string, memory int64) (dir string, limits bool) {
	if c == nil {
		return "", false
	}
	dir = filepath.Join(c.dir, strings.ReplaceAll(id, "/", "-"))
	if os.Mkdir(dir, 0o755) != nil { //nolint:gosec // the kernel's own mode for cgroups
		return "", false
	}
	if !c.memory || memory <= 0 {
		return dir, false
	}
	if os.WriteFile(filepath.Join(dir, "memory.max"), []byte(strconv.FormatInt(memory, 10)), 0o600) != nil {
		return dir, false
	}
	// Without these two the container would swap instead of ending, or lose single processes.
	_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0o600)
	_ = os.WriteFile(filepath.Join(dir, "memory.oom.group"), []byte("1"), 0o600)
	return dir, true
}

func removeCgroup(dir string) {
	if dir != "" {
		_ = os.Remove(dir)
	}
}

// cgroupRoot is where cgroup v2 is mounted, alone or alongside version 1.
func cgroupRoot() string {
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
			return root
		}
	}
	return ""
}

// ownCgroup is the path of this process in the version 2 hierarchy.
func ownCgroup() string {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "/"
	}
	for line := range strings.Lines(string(raw)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path
		}
	}
	return "/"
}
