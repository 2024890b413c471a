package shim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	canMeasure = true

	prSetChildSubreaper = 36
)

// adoptOrphans makes this process the parent of every descendant whose own parent dies, so that none escapes.
func adoptOrphans() {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0)
}

// mountAll gives this thread, and so the container, a mount namespace with the mounts in it.
func mountAll(mounts []Mount) error {
	if len(mounts) == 0 {
		return nil
	}
	if err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_FS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, m := range mounts {
		if err := syscall.Mount(m.Source, m.Target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("mount a volume at %s: %w", m.Target, err)
		}
		if !m.ReadOnly {
			continue
		}
		flags := uintptr(syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY)
		if err := syscall.Mount("", m.Target, "", flags, ""); err != nil {
			return fmt.Errorf("make the volume at %s read-only: %w", m.Target, err)
		}
	}
	return nil
}

// spawn starts the first process, in its own process group and, where there is one, in its cgroup.
func (s *supervisor) spawn(streams *streams) (int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer func() { _ = null.Close() }()
	sys := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if s.spec.Cgroup != "" {
		if dir, err := os.Open(s.spec.Cgroup); err == nil {
			defer func() { _ = dir.Close() }()
			sys.UseCgroupFD, sys.CgroupFD = true, int(dir.Fd())
		}
	}
	attr := &syscall.ProcAttr{
		Dir: s.spec.Dir, Env: s.spec.Env, Sys: sys,
		Files: []uintptr{null.Fd(), streams.writers[0].Fd(), streams.writers[1].Fd()},
	}
	pid, err := syscall.ForkExec(s.spec.Path, s.spec.Argv, attr)
	if err != nil && sys.UseCgroupFD {
		// Sandboxes refuse this form of the call; the container then runs without its cgroup.
		sys.UseCgroupFD, s.spec.Cgroup, s.spec.CgroupLimits = false, "", false
		pid, err = syscall.ForkExec(s.spec.Path, s.spec.Argv, attr)
	}
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", s.spec.Path, err)
	}
	return pid, nil
}

// members lists the container's processes.
func (s *supervisor) members() []int {
	if s.spec.Cgroup == "" {
		return descendants(os.Getpid())
	}
	raw, err := os.ReadFile(s.spec.Cgroup + "/cgroup.procs")
	if err != nil {
		return descendants(os.Getpid())
	}
	return numbers(string(raw))
}

func numbers(text string) []int {
	var pids []int
	for _, field := range strings.Fields(text) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants lists the processes below root, root left out.
func descendants(root int) []int {
	names, err := procNames()
	if err != nil {
		return nil
	}
	children := make(map[int][]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(name); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var all []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		all = append(all, children[queue[0]]...)
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

func procNames() ([]string, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return dir.Readdirnames(-1)
}

// parentOf reads the fourth field of /proc/<pid>/stat; the second may hold spaces and brackets.
func parentOf(pid string) (int, bool) {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return 0, false
	}
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// residentBytes is the resident size of a process, 0 when it is gone.
func residentBytes(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// proportionalBytes is the size of a process with each shared page divided among those that share it.
func proportionalBytes(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return residentBytes(pid)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			fields := strings.Fields(rest)
			if len(fields) == 0 {
				break
			}
			kib, err := strconv.ParseInt(fields[0], 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return residentBytes(pid)
}

// cgroupOOM reports whether the kernel has killed a process of the cgroup for memory.
func cgroupOOM(dir string) bool {
	raw, err := os.ReadFile(dir + "/memory.events")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strings.TrimSpace(rest) != "0"
		}
	}
	return false
}
