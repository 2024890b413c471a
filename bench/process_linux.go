package main

import (
	"os"
	"os/exec"
	"syscall"
)

// endWithUs lets the kernel end the child when we end, however we do. A group of its own keeps Ctrl-C from it.
func endWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// datasync waits until the disk has a file's data.
func datasync(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) } //nolint:gosec // a descriptor
