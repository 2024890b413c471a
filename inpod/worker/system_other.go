//go:build !linux

package worker

import (
	"syscall"
	"time"
)

const canFork = false

var start = time.Now() //nolint:gochecknoglobals // the beginning of the clock

func monotonic() time.Duration { return time.Since(start) }

func changed(stat *syscall.Stat_t) (int64, int64) { return stat.Ctimespec.Sec, stat.Ctimespec.Nsec }

func adoptOrphans() error { return nil }

func neverExecuted(int) bool { return false }

func killOrphans(func(pid int) bool) {}

func memoryKills() kills { return kills{-1, -1} }

// NewDeadline returns none: attempts are not forked here, and only Linux has timers that end a stopped process.
func NewDeadline() (Deadline, error) { return nil, nil } //nolint:nilnil // no deadline
