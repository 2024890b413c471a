package shim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Signals that the node sends to a shim.
const (
	Terminate = syscall.SIGTERM // ask the container's process group to end
	Kill      = syscall.SIGUSR1 // end every process of the container now
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
	// The kernel ends the container's first process when the thread that made it ends (parent death signal), and the
	// mount namespace is a property of the thread: both need this goroutine to stay where it is.
	runtime.LockOSThread()
	syscall.CloseOnExec(ReportFD)
	syscall.CloseOnExec(LockFD)
	report := os.NewFile(ReportFD, "report")
	if report == nil {
		return exitBadSpec
	}
	var spec Spec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return exitBadSpec // the node went away before it had said what to run
	}
	_ = os.Stdin.Close()

	s := &supervisor{spec: spec, report: report}
	s.state = State{ID: spec.ID, ShimPID: os.Getpid(), Phase: Starting, Cgroup: spec.Cgroup}
	if err := writeState(spec.StateFile, report, s.state); err != nil {
		return exitNoState // without a record nobody could learn of the process
	}
	s.run()
	if err := writeState(spec.StateFile, report, s.state); err != nil {
		return exitNoState
	}
	return exitDone
}

// supervisor runs one container.
type supervisor struct {
	spec   Spec
	report *os.File
	state  State
	oom    atomic.Bool // the memory watcher has ended the container
}

// run starts the container and returns when nothing of it is left and its log is complete.
func (s *supervisor) run() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, Terminate, Kill, syscall.SIGINT, syscall.SIGHUP)
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
	if err := mountAll(s.spec.Mounts); err != nil {
		streams.abandon()
		s.fail(err)
		return
	}
	pid, err := s.spawn(streams)
	if err != nil {
		streams.abandon()
		s.fail(err)
		return
	}
	streams.started()
	s.state.PID, s.state.Phase, s.state.StartedAt = pid, Running, time.Now().UTC()
	// The record matters only to a node that comes later; the container runs either way.
	_ = writeState(s.spec.StateFile, s.report, s.state)

	ended := make(chan struct{})
	go s.obey(signals, pid)
	go s.watchMemory(pid, ended)
	status := s.reap(pid)
	close(ended)
	s.state.FinishedAt = time.Now().UTC()
	s.killAll(pid)
	streams.drain()
	s.finish(status)
}

// fail records that there was no process.
func (s *supervisor) fail(err error) {
	now := time.Now().UTC()
	s.state.Phase, s.state.StartError, s.state.ExitCode = Exited, err.Error(), 128
	s.state.StartedAt, s.state.FinishedAt = now, now
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

// obey passes the node's wishes on. The shim leads a session of its own, so that the terminal's Ctrl-C does not get here
// by itself; should one be sent, it is the node's business.
func (s *supervisor) obey(signals <-chan os.Signal, pid int) {
	for sig := range signals {
		switch sig {
		case Terminate:
			_ = syscall.Kill(-pid, syscall.SIGTERM)
		case Kill:
			s.killEach(pid)
		}
	}
}

// reap waits for the first process and, as it goes, for every orphan that was handed to this process.
func (s *supervisor) reap(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR: //nolint:errorlint // an errno, never wrapped
		case err != nil:
			return status // no child is left: cannot be before pid was seen
		case got == pid && (status.Exited() || status.Signaled()):
			return status
		}
	}
}
