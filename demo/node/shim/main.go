package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Exit codes of the shim itself. The container's own end is in the state file.
const (
	exitDone    = 0
	exitBadSpec = 2
	exitNoState = 3
)

// Main is the life of a shim; it returns the exit code of the shim process. It must be called on the main goroutine of
// a process that was started by package process.
func Main() int {
	// The kernel ends the container's first process when the thread that created it ends (parent death signal), and the
	// mount namespace is a property of the thread: both need this goroutine to stay where it is.
	runtime.LockOSThread()
	syscall.CloseOnExec(ReportFD)
	syscall.CloseOnExec(LockFD)
	syscall.CloseOnExec(ControlFD)
	report, control := os.NewFile(ReportFD, "report"), os.NewFile(ControlFD, "control")
	if report == nil || control == nil {
		return exitBadSpec
	}
	var spec Spec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return exitBadSpec // the node ended before it had sent the whole spec
	}
	_ = os.Stdin.Close()

	s := &supervisor{spec: spec, report: report, control: control, waiting: waitingProcess(os.Args)}
	s.state = State{ID: spec.ID, ShimPID: os.Getpid(), Phase: Starting, Cgroup: spec.Cgroup}
	if err := writeState(spec.StateFile, report, s.state); err != nil {
		return exitNoState // without the state file no node could find the process
	}
	s.run()
	if err := writeState(spec.StateFile, report, s.state); err != nil {
		return exitNoState
	}
	return exitDone
}

// supervisor runs one container.
type supervisor struct {
	spec    Spec
	report  *os.File
	control *os.File
	waiting *waiting // the process of a warm start, nil in a cold one
	state   State
	oom     atomic.Bool // the memory watcher has ended the container
	asked   atomic.Bool // the node has asked for the end
}

// run starts the container and returns when nothing of it is left and its log is complete.
func (s *supervisor) run() {
	adoptOrphans()

	logs, err := openLog(s.spec.LogFile, s.spec.LogBytes)
	if err != nil {
		s.fail(fmt.Errorf("open the container's log: %w", err))
		return
	}
	defer logs.close()
	streams, err := newStreams(logs)
	if err != nil {
		s.fail(fmt.Errorf("make the container's output: %w", err))
		return
	}
	if s.spec.Notice != "" {
		logs.note(s.spec.Notice)
	}
	if err := s.confine(); err != nil {
		streams.abandon()
		s.fail(err)
		return
	}
	kills := kernelKills()
	pid, err := s.spawn(streams)
	if err != nil {
		streams.abandon()
		s.fail(err)
		return
	}
	streams.started()
	s.state.PID, s.state.Phase, s.state.StartedAt = pid, Running, time.Now().UTC()
	// Only a node that starts later needs the state file; the container runs either way.
	_ = writeState(s.spec.StateFile, s.report, s.state)

	ended := make(chan struct{})
	go s.obey(pid)
	go s.watchMemory(pid, ended)
	status := s.reap(pid)
	close(ended)
	s.state.FinishedAt = time.Now().UTC()
	s.killAll(pid)
	streams.drain()
	s.finish(status)
	s.state.ByItself = s.state.ExitCode > 128 && !s.state.OutOfMemory && !s.asked.Load() && kills >= 0 && kernelKills() == kills
}

// fail records that there was no process.
func (s *supervisor) fail(err error) {
	now := time.Now().UTC()
	s.state.Phase, s.state.StartError, s.state.ExitCode = Exited, err.Error(), 128
	s.state.MachineFault = !ofCommand(err)
	s.state.StartedAt, s.state.FinishedAt = now, now
}

// commandError is an error of the kernel about the program, its arguments or its directory.
type commandError struct{ error }

// Unwrap makes the cause visible.
func (e commandError) Unwrap() error { return e.error }

// ofCommand reports whether another command could have been started. Mounts, logs and processes that the machine cannot make
// are not the command's.
func ofCommand(err error) bool {
	var command commandError
	if !errors.As(err, &command) {
		return false
	}
	for _, short := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EIO} {
		if errors.Is(err, short) {
			return false
		}
	}
	return true
}

// finish records how the first process ended.
func (s *supervisor) finish(status syscall.WaitStatus) {
	s.state.Phase = Exited
	if status.Signaled() {
		s.state.Signal = int(status.Signal())
		s.state.ExitCode = 128 + s.state.Signal
	} else {
		s.state.ExitCode = status.ExitStatus()
	}
	if s.oom.Load() || (s.spec.CgroupLimits && s.state.ExitCode != 0 && cgroupOOM(s.spec.Cgroup)) {
		s.state.OutOfMemory = true
	}
}

// obey executes the node's commands.
func (s *supervisor) obey(pid int) {
	wish := make([]byte, 1)
	for {
		if _, err := s.control.Read(wish); err != nil {
			return
		}
		s.asked.Store(true)
		switch wish[0] {
		case Terminate:
			_ = syscall.Kill(-pid, syscall.SIGTERM)
		case Kill:
			s.killEach(pid)
		}
	}
}

// reap waits for the first process, and meanwhile for every orphan that this process adopted.
func (s *supervisor) reap(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return status // no child is left: cannot happen before pid was reaped
		case got == pid && (status.Exited() || status.Signaled()):
			return status
		}
	}
}
