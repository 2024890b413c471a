package shim

import (
	"os"
	"syscall"
	"time"
)

// killTimeout bounds the wait for killed processes that hang in the kernel.
const killTimeout = 5 * time.Second

// killEach ends every process of the container without waiting.
func (s *supervisor) killEach(pid int) {
	if s.spec.Cgroup != "" {
		_ = os.WriteFile(s.spec.Cgroup+"/cgroup.kill", []byte("1"), 0o600)
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	for _, each := range Descendants(os.Getpid()) {
		_ = syscall.Kill(each, syscall.SIGKILL)
	}
}

// killAll ends what the first process left behind and reaps it. A container ends with its first process, whatever it
// has started, moved to other groups or disowned.
func (s *supervisor) killAll(pid int) {
	deadline := time.Now().Add(killTimeout)
	pause := 100 * time.Microsecond
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR, got > 0:
			continue
		case err != nil, time.Now().After(deadline):
			return // no child is left, or it does not react
		}
		s.killEach(pid)
		<-time.After(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}
