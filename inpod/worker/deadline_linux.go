package worker

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelDeadline is a timer of the kernel that sends SIGKILL, which a stopped process cannot hold off. Child processes do not
// inherit it.
type kernelDeadline struct{ timer int32 }

// NewDeadline returns a deadline of this process.
func NewDeadline() (Deadline, error) {
	// struct sigevent of the kernel.
	event := struct {
		value        uint64
		signo        int32
		notification int32 // 0: a signal
		_            [48]byte
	}{signo: int32(syscall.SIGKILL)}
	d := &kernelDeadline{}
	// CLOCK_BOOTTIME is the clock of the lease.
	_, _, errno := unix.Syscall(
		unix.SYS_TIMER_CREATE, unix.CLOCK_BOOTTIME,
		uintptr(unsafe.Pointer(&event)),   //nolint:gosec // the kernel reads and writes only these two
		uintptr(unsafe.Pointer(&d.timer)), //nolint:gosec // as above
	)
	if errno != 0 {
		return nil, fmt.Errorf("create a timer of the kernel: %w", errno)
	}
	return d, nil
}

// Set implements Deadline. A time that has passed ends the process at once.
func (d *kernelDeadline) Set(in time.Duration) error { return d.set(max(in, time.Nanosecond)) }

// Clear implements Deadline.
func (d *kernelDeadline) Clear() error { return d.set(0) }

// set arms the timer; 0 disarms it.
func (d *kernelDeadline) set(in time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(in.Nanoseconds())}
	_, _, errno := unix.Syscall6(
		unix.SYS_TIMER_SETTIME,
		uintptr(d.timer), 0, //nolint:gosec // the kernel's numbers are not negative
		uintptr(unsafe.Pointer(&spec)), 0, //nolint:gosec // the kernel only reads it
		0, 0,
	)
	if errno != 0 {
		return fmt.Errorf("set a timer of the kernel: %w", errno)
	}
	return nil
}
