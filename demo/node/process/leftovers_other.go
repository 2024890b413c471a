//go:build !linux

package process

import "syscall"

// killLeftovers ends the process group of a container whose shim was killed.
func killLeftovers(_ string, group int) {
	if group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}
