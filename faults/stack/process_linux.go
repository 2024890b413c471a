package stack

import "syscall"

// endWithUs lets the kernel end the child when we end, however we do.
func endWithUs(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
