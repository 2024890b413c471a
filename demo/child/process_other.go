//go:build !linux

package child

import "syscall"

const terminate = syscall.SIGTERM

// attributes puts the child into a group of its own, so that Ctrl-C in the terminal reaches only the parent. Where the
// kernel does not kill children with their parent, the child sees the end of its standard input (UntilOrphaned).
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
