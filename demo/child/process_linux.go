package child

import "syscall"

const terminate = syscall.SIGTERM

// attributes puts the child into a group of its own, so that Ctrl-C in the terminal reaches only the parent, which then
// stops everything in order, and lets the kernel kill the child with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
