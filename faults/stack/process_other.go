//go:build !linux

package stack

import "syscall"

// endWithUs cannot tie the child to us here.
func endWithUs(*syscall.SysProcAttr) {}
