//go:build failpoints

package failpoint

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The environment variables with the paths of the suite's files.
const (
	// FileEnv leads to the file with what is armed: the name of a point and how many times it is passed before the
	// process dies there, separated by a space. The process that dies removes the file.
	FileEnv = "FLYTE_FAILPOINTS"
	// HangEnv leads to a file whose existence makes streams hang.
	HangEnv = "FLYTE_STREAMS_HANG"
	// ClockEnv leads to the file with what is added to the time of day, as a duration.
	ClockEnv = "FLYTE_CLOCK_OFFSET"
)

// passed counts how often the armed point was passed since it was armed. A process has one set of points.
var passed struct {
	sync.Mutex
	armed string // the content of the file that the count belongs to
	count int
}

// Here kills the process, as kill -9 does, if the point is armed and its turn has come.
func Here(name string) {
	path := os.Getenv(FileEnv)
	if path == "" {
		return
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return
	}
	armed := strings.TrimSpace(string(body))
	point, number, _ := strings.Cut(armed, " ")
	turn, err := strconv.Atoi(number)
	if point != name || err != nil {
		return
	}
	passed.Lock()
	defer passed.Unlock()
	if passed.armed != armed {
		passed.armed, passed.count = armed, 0
	}
	if passed.count++; passed.count < turn {
		return
	}
	if os.Remove(path) != nil {
		return // Another goroutine or process was faster.
	}
	fmt.Fprintf(os.Stderr, "failpoint: dying at %s\n", name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// Hang blocks a stream of this server until its context ends, if it gets here while the suite's file exists: the connection stays
// open and nothing more comes. The error is why the context ended.
func Hang(ctx context.Context) error {
	path := os.Getenv(HangEnv)
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil //nolint:nilerr // the file does not exist: nothing hangs
	}
	fmt.Fprintln(os.Stderr, "failpoint: a stream hangs")
	<-ctx.Done()
	return context.Cause(ctx)
}

// Clock is a clock whose time of day is off by what the suite's file says. Timers are not: they follow the machine.
func Clock(c clock.Clock) clock.Clock {
	path := os.Getenv(ClockEnv)
	if path == "" {
		return c
	}
	return &stepped{Clock: c, path: path}
}

type stepped struct {
	clock.Clock
	path string

	mu     sync.Mutex
	read   time.Time     // GUARDED_BY(mu): when the file was last read
	offset time.Duration // GUARDED_BY(mu)
}

// reread is how long an offset is used before the file is read again.
const reread = 50 * time.Millisecond

// Now implements clock.Clock.
func (s *stepped) Now() time.Time {
	now := s.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.read) > reread {
		s.read, s.offset = now, 0
		if body, err := os.ReadFile(s.path); err == nil {
			s.offset, _ = time.ParseDuration(strings.TrimSpace(string(body)))
		}
	}
	return now.Add(s.offset)
}
