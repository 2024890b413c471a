package shim

import (
	"fmt"
	"os"
	"slices"
	"strconv"
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
	oPath                = 0x200000
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

// Confine takes rights from this thread, and so from the program that it becomes: all capabilities but some, by their numbers, and the
// right to gain any. It also gives it an own /dev with nothing but the devices that every container has, since what is written to the
// device of a disk is on no mount. The process must be in a mount namespace of its own, and the goroutine must be locked to its
// thread.
func Confine(keep []int) error {
	if err := smallDev(); err != nil {
		return fmt.Errorf("make a directory of devices: %w", err)
	}
	const highest = 63
	var drop []int
	for number := range highest + 1 {
		if !slices.Contains(keep, number) {
			drop = append(drop, number)
		}
	}
	return Security{Drop: drop, NoNewPrivileges: true}.restrict()
}

// smallDev replaces /dev.
func smallDev() error {
	files := map[string]*os.File{}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		file, err := os.OpenFile("/dev/"+name, oPath, 0)
		if err != nil {
			continue // the machine does not have it either
		}
		defer func() { _ = file.Close() }()
		files[name] = file
	}
	if err := syscall.Mount("tmpfs", "/dev", "tmpfs", syscall.MS_NOSUID|syscall.MS_NOEXEC, "mode=755"); err != nil {
		return &os.PathError{Op: "mount", Path: "/dev", Err: err}
	}
	for name, file := range files {
		target := "/dev/" + name
		if err := os.WriteFile(target, nil, 0o600); err != nil {
			return err
		}
		if err := syscall.Mount("/proc/self/fd/"+strconv.Itoa(int(file.Fd())), target, "", syscall.MS_BIND, ""); err != nil {
			return &os.PathError{Op: "mount", Path: target, Err: err}
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	if err := os.Mkdir("/dev/shm", 0o700); err != nil {
		return err
	}
	return os.Chmod("/dev/shm", 0o1777) //nolint:gosec // as everywhere
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
