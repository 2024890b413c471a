package warm

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// errStalled says that a parent did not get ready and had stopped to make progress, or took longer than it may.
var errStalled = errors.New("it makes no progress")

// longestHello bounds what is read of a parent before it is ready, in bytes.
const longestHello = 16 << 20

// patient reads from a parent that is not ready yet. A read waits while the parent makes progress.
type patient struct {
	of       *net.UnixConn
	deadline time.Time
	stall    time.Duration          // without progress
	progress func() (string, error) // differs from its last value after progress
	read     int
}

// Read implements io.Reader.
func (r *patient) Read(buffer []byte) (int, error) {
	if r.read > longestHello {
		return 0, errors.New("the answer is too long")
	}
	before, err := r.progress()
	if err != nil {
		before = ""
	}
	for {
		until := time.Now().Add(r.stall)
		if until.After(r.deadline) {
			until = r.deadline
		}
		_ = r.of.SetReadDeadline(until)
		n, err := r.of.Read(buffer)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			r.read += n
			return n, err
		}
		now, err := r.progress()
		if err != nil || now == before || !time.Now().Before(r.deadline) {
			return 0, fmt.Errorf("%w: %w", errStalled, os.ErrDeadlineExceeded)
		}
		before = now
	}
}

// progressOf returns what the kernel counts of a process and of its children: CPU time, and page faults that needed the disk. It is an
// error where the system does not tell.
func progressOf(pid int) func() (string, error) {
	return func() (string, error) {
		counts, err := countsOf(strconv.Itoa(pid))
		if err != nil {
			return "", err
		}
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		for child := range strings.FieldsSeq(string(children)) {
			more, _ := countsOf(child) // one that has just ended is counted by its parent
			counts += more
		}
		return counts, nil
	}
}

func countsOf(pid string) (string, error) {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 15 {
		return "", errors.New("the kernel's counts have an unknown format")
	}
	// majflt and cmajflt, utime and stime, cutime and cstime; see proc(5).
	return strings.Join(fields[9:15], " ") + "\n", nil
}
