package podvolume

import (
	"runtime"
	"syscall"
)

// HaveNamespaces reports whether this process may create mount namespaces.
func HaveNamespaces() bool {
	result := make(chan bool)
	go func() {
		// The thread ends with its namespace: a locked goroutine that returns terminates its thread.
		runtime.LockOSThread()
		err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_FS)
		if err == nil {
			err = syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
		}
		result <- err == nil
	}()
	return <-result
}
