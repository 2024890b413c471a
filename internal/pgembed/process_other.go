//go:build !linux

package pgembed

import (
	"os/exec"
	"syscall"
)

// detach puts the child into a process group of its own, so that Ctrl-C reaches it through us and in order.
func detach(cmd *exec.Cmd, a account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential(), Setpgid: true}
}
