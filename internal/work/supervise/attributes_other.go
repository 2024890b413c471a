//go:build !linux

package supervise

import "syscall"

// attributes puts the child into a process group of its own, so that Ctrl-C in the terminal reaches only the parent.
// Where the kernel does not signal children of a dead parent, HoldStdin and UntilOrphaned do.
func attributes(spec Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: spec.Credential}
}
