package supervise

import "syscall"

// attributes puts the child into a process group of its own, so that Ctrl-C in the terminal reaches only the parent,
// which then stops everything in order, and lets the kernel signal the child when the parent dies.
func attributes(spec Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid: true, Credential: spec.Credential, Pdeathsig: orDefault(spec.OrphanSignal, syscall.SIGKILL),
	}
}
