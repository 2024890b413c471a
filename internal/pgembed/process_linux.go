package pgembed

import (
	"os/exec"
	"syscall"
)

// detach puts the child into a process group of its own, so that Ctrl-C reaches it through us and in order, and lets
// the kernel stop it at once when we die without a word.
func detach(cmd *exec.Cmd, a account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential(), Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
