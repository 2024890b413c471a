package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Phase is how far a container has come.
type Phase string

// A container passes through the phases in this order. One that never got Starting was never started.
const (
	Starting Phase = "starting" // written before the process is created
	Running  Phase = "running"
	Exited   Phase = "exited" // also a container that could not be started
)

// State is what a shim reports and keeps in its state file.
type State struct {
	ID    string `json:"id"`
	Phase Phase  `json:"phase"`
	// ShimPID is the shim's process id, valid for as long as its lock is held. PID is the container's first process
	// and the id of its process group.
	ShimPID int `json:"shimPid"`
	PID     int `json:"pid,omitempty"`
	// StartedAt and FinishedAt frame the life of the first process, in UTC.
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// ExitCode is the process's own, or 128 and the signal that ended it.
	ExitCode int `json:"exitCode"`
	// Signal is the signal that ended the process, 0 for none.
	Signal int `json:"signal,omitempty"`
	// OutOfMemory means that the process ended because the container passed its memory limit.
	OutOfMemory bool `json:"outOfMemory,omitempty"`
	// ByItself means that the process ended as by a signal that neither this supervisor sent nor, for lack of memory, the kernel.
	ByItself bool `json:"byItself,omitempty"`
	// Cgroup is the container's cgroup, which the node removes.
	Cgroup string `json:"cgroup,omitempty"`
	// Warm means that the process was forked from a warm parent. Refused says why it was not although that was tried.
	Warm    bool   `json:"warm,omitempty"`
	Refused string `json:"refused,omitempty"`
	// StartError says why there was no process at all. MachineFault means that no command could have been started; otherwise it is
	// this command.
	StartError   string `json:"startError,omitempty"`
	MachineFault bool   `json:"machineFault,omitempty"`
}

// ReadState reads a state file. A missing file is os.ErrNotExist.
func ReadState(path string) (State, error) {
	var state State
	raw, err := os.ReadFile(path)
	if err != nil {
		return state, fmt.Errorf("read container state: %w", err)
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return state, fmt.Errorf("decode container state %s: %w", path, err)
	}
	return state, nil
}

// writeState replaces the state file, so that a reader sees the old or the new state, and reports to the node. A node
// that is gone is not an error: the next one reads the file.
func writeState(path string, report *os.File, state State) error {
	raw, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode container state: %w", err)
	}
	raw = append(raw, '\n')
	next := path + ".next"
	err = os.WriteFile(next, raw, 0o600)
	if err == nil {
		err = os.Rename(next, path)
	}
	if state.Phase != Starting {
		_, reportErr := report.Write(raw)
		if err != nil && reportErr != nil {
			return errors.Join(err, reportErr)
		}
		if reportErr == nil {
			return nil // the node knows, even when the disk is full
		}
	}
	return err
}
