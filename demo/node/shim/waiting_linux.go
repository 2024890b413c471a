package shim

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// waitingFD is the socket to the process that waits, in a shim that came from a warm parent.
const waitingFD = 6

// readyTimeout bounds what a waiting process takes to become the container's. It takes some milliseconds.
const readyTimeout = 10 * time.Second

// waiting is a process that was forked together with this shim and waits for what it is to be, see package warm.
type waiting struct {
	pid         int
	inheritance inheritance
	socket      *os.File
}

// waitingProcess finds the waiting process, whose id is the argument after the command, before the bytes of learned packages; nil if
// the start is a cold one.
func waitingProcess(args []string) *waiting {
	if len(args) < 3 {
		return nil
	}
	pid, err := strconv.Atoi(args[2])
	if err != nil {
		return nil
	}
	syscall.CloseOnExec(waitingFD)
	var learned int64
	if len(args) > 3 {
		learned, _ = strconv.ParseInt(args[3], 10, 64)
	}
	return &waiting{pid: pid, inheritance: inheritance{bytes: max(0, learned)}, socket: os.NewFile(waitingFD, "waiting")}
}

// become makes the waiting process the container's. After an error it is gone and has run nothing of the container.
func (w *waiting) become(spec Spec, files []*os.File) error {
	defer func() { _ = w.socket.Close() }()
	err := w.prepare(spec, files)
	if err == nil {
		w.inheritance.image = imageOf(w.pid)
		err = w.write([]byte{'g'}, nil)
	}
	if err != nil {
		w.end()
	}
	return err
}

// prepare returns when the process has said that it is ready.
func (w *waiting) prepare(spec Spec, files []*os.File) error {
	if len(spec.Mounts) > 0 || !spec.Security.IsZero() || spec.Port != nil {
		return errors.New("a process that runs already cannot get mounts or another port, or lose rights")
	}
	if spec.Cgroup != "" {
		if err := os.WriteFile(spec.Cgroup+"/cgroup.procs", []byte(strconv.Itoa(w.pid)), 0o600); err != nil {
			return fmt.Errorf("move the process into its cgroup: %w", err)
		}
	}
	if err := syscall.SetsockoptTimeval(waitingFD, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, timeval(readyTimeout)); err != nil {
		return err
	}
	if err := syscall.SetsockoptTimeval(waitingFD, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, timeval(readyTimeout)); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"path": spec.Path, "argv": spec.Argv, "env": spec.Env, "dir": spec.Dir})
	if err != nil {
		return err
	}
	numbers := make([]int, len(files))
	for i, file := range files {
		numbers[i] = int(file.Fd())
	}
	// The rights travel with the first bytes; the rest may be larger than the socket's buffer.
	if err := w.write(binary.BigEndian.AppendUint32(nil, uint32(len(body))), syscall.UnixRights(numbers...)); err != nil { //nolint:gosec // a few MiB at most
		return err
	}
	if err := w.write(body, nil); err != nil {
		return err
	}
	return w.answer()
}

func (w *waiting) write(data, rights []byte) error {
	for len(data) > 0 {
		n, err := syscall.SendmsgN(waitingFD, data, rights, nil, syscall.MSG_NOSIGNAL)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("tell the process what to run: %w", err)
		}
		data, rights = data[n:], nil
	}
	return nil
}

// answer reads the line that says ready or why not.
func (w *waiting) answer() error {
	var line []byte
	part := make([]byte, 512)
	for !bytes.HasSuffix(line, []byte("\n")) && len(line) < 4<<10 {
		n, err := syscall.Read(waitingFD, part)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for the process: %w", err)
		}
		if n == 0 {
			break
		}
		line = append(line, part[:n]...)
	}
	if answer := string(bytes.TrimSpace(line)); answer != "ready" {
		return fmt.Errorf("the process refused: %s", answer)
	}
	return nil
}

// end kills the process and waits for its end.
func (w *waiting) end() {
	_ = syscall.Kill(w.pid, syscall.SIGKILL)
	for {
		if _, err := syscall.Wait4(w.pid, nil, 0, nil); !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

func timeval(d time.Duration) *syscall.Timeval {
	value := syscall.NsecToTimeval(d.Nanoseconds())
	return &value
}
