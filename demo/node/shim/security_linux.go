package shim

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Numbers of the kernel's interface that package syscall lacks. Packages beyond the standard library would delay the
// start of every container, see package shim/early.
const (
	prCapBoundingSetDrop = 24
	prSetNoNewPrivileges = 38
	sysMountSetattr      = 442 // on all architectures
	atRecursive          = 0x8000
	mountReadOnly        = 0x1
)

// restrict takes rights from the processes that this thread starts.
func (s Security) restrict() error {
	for _, capability := range s.Drop {
		// A number that this kernel does not have is an error that means nothing.
		_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBoundingSetDrop, uintptr(capability), 0)
		if errno != 0 && errno != syscall.EINVAL {
			return fmt.Errorf("drop capability %d: %w", capability, errno)
		}
	}
	if s.NoNewPrivileges {
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
			return fmt.Errorf("forbid new privileges: %w", errno)
		}
	}
	return nil
}

// CloseRoot makes everything that this process sees read-only, except some directories. The process must be in a mount
// namespace of its own.
func CloseRoot(writable []string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	return closeRoot(nil, writable)
}

// closeRoot makes every mount of the namespace read-only except some directories and the writable mounts.
func closeRoot(mounts []Mount, writable []string) error {
	for _, dir := range writable {
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("keep %s writable: %w", dir, err)
		}
	}
	if err := setReadOnly("/", true); err != nil {
		return fmt.Errorf("make the root file system read-only: %w", err)
	}
	for _, m := range mounts {
		if !m.ReadOnly {
			writable = append(writable, m.Target)
		}
	}
	for _, path := range writable {
		if err := setReadOnly(path, false); err != nil {
			return fmt.Errorf("keep %s writable: %w", path, err)
		}
	}
	return nil
}

// setReadOnly sets or clears the flag of the mount at a path, and when it sets it, of all mounts below.
func setReadOnly(path string, on bool) error {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	var change struct{ set, clear, propagation, userns uint64 }
	flags := uintptr(0)
	if on {
		change.set, flags = mountReadOnly, atRecursive
	} else {
		change.clear = mountReadOnly
	}
	cwd := int64(-100)                                                                                   // AT_FDCWD
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(cwd), uintptr(unsafe.Pointer(name)), flags, //nolint:gosec // a call of the kernel
		uintptr(unsafe.Pointer(&change)), unsafe.Sizeof(change), 0) //nolint:gosec // as above
	if errno != 0 {
		return &os.PathError{Op: "mount_setattr", Path: path, Err: errno}
	}
	return nil
}
