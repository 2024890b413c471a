package shim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const prSetChildSubreaper = 36

// adoptOrphans makes this process the parent of every descendant whose own parent dies, so that none escapes.
func adoptOrphans() {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0)
}

// confine gives this thread, and so the container, its mounts and takes rights from it.
func (s *supervisor) confine() error {
	security := s.spec.Security
	mounts := s.spec.Mounts
	if file := s.spec.hosts(); file != "" && os.Geteuid() == 0 {
		mounts = append(mounts[:len(mounts):len(mounts)], Mount{Source: file, Target: hostsFile, ReadOnly: true})
	}
	if len(mounts) > 0 || security.ReadOnlyRoot {
		if err := mountAll(mounts); err != nil {
			return err
		}
	}
	if security.ReadOnlyRoot {
		if err := closeRoot(s.spec.Mounts, security.Writable); err != nil {
			return err
		}
	}
	if err := s.readdress(); err != nil {
		return err
	}
	return security.restrict()
}

// mountAll makes a mount namespace with the mounts in it.
func mountAll(mounts []Mount) error {
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
	if s.waiting != nil {
		err := s.waiting.become(s.spec, []*os.File{null, streams.writers[0], streams.writers[1]})
		if err == nil {
			s.state.Warm = true
			return s.waiting.pid, nil
		}
		s.state.Refused = err.Error()
	}
	sys := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if user := s.spec.Security.User; user != nil {
		sys.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID, Groups: user.Groups}
		if err := streams.giveTo(*user); err != nil {
			return 0, fmt.Errorf("hand over the container's output: %w", err)
		}
	}
	if s.spec.Cgroup != "" {
		if dir, err := os.Open(s.spec.Cgroup); err == nil {
			defer func() { _ = dir.Close() }()
			sys.UseCgroupFD, sys.CgroupFD = true, int(dir.Fd())
		}
	}
	path, argv := s.named(sys)
	attr := &syscall.ProcAttr{
		Dir: s.spec.Dir, Env: s.spec.Env, Sys: sys,
		Files: []uintptr{null.Fd(), streams.writers[0].Fd(), streams.writers[1].Fd()},
	}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil && sys.UseCgroupFD {
		// Sandboxes refuse this form of the call; the container then runs without its cgroup.
		sys.UseCgroupFD, s.spec.Cgroup, s.spec.CgroupLimits = false, "", false
		pid, err = syscall.ForkExec(path, argv, attr)
	}
	if err != nil {
		return 0, commandError{fmt.Errorf("start %s: %w", s.spec.Path, err)}
	}
	return pid, nil
}

// members lists the container's processes.
func (s *supervisor) members() []int {
	if s.spec.Cgroup == "" {
		return Descendants(os.Getpid())
	}
	raw, err := os.ReadFile(s.spec.Cgroup + "/cgroup.procs")
	if err != nil {
		return Descendants(os.Getpid())
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

// Descendants lists the processes below root, root left out.
func Descendants(root int) []int {
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
