//go:build !linux

package shim

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const canMeasure = false

func adoptOrphans() {}

// waiting is for Linux only.
type waiting struct{ inheritance inheritance }

func waitingProcess([]string) *waiting { return nil }

func (s *supervisor) confine() error {
	security := s.spec.Security
	switch {
	case len(s.spec.Mounts) > 0, security.ReadOnlyRoot:
		return errors.New("this system has no mount namespaces")
	case s.spec.Port != nil:
		return errors.New("this system cannot give a process another port")
	case s.spec.Network != nil:
		return errors.New("this system cannot give a process an address and names of its own")
	case security.User != nil, security.NoNewPrivileges, len(security.Drop) > 0:
		return errors.New("this system cannot restrict the rights of a process")
	}
	return nil
}

func (s *supervisor) spawn(streams *streams) (int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer func() { _ = null.Close() }()
	pid, err := syscall.ForkExec(s.spec.Path, s.spec.Argv, &syscall.ProcAttr{
		Dir: s.spec.Dir, Env: s.spec.Env, Sys: &syscall.SysProcAttr{Setpgid: true},
		Files: []uintptr{null.Fd(), streams.writers[0].Fd(), streams.writers[1].Fd()},
	})
	if err != nil {
		return 0, commandError{fmt.Errorf("start %s: %w", s.spec.Path, err)}
	}
	return pid, nil
}

func (s *supervisor) members() []int { return nil }

// Descendants is known on Linux only.
func Descendants(int) []int { return nil }

func heldBytes(int) int64 { return 0 }

func shareBytes(int) int64 { return 0 }

func walkedBytes(int) int64 { return 0 }

func imageOf(int) string { return "" }

func cgroupOOM(string) bool { return false }

// kernelKills is not known here.
func kernelKills() int64 { return -1 }
