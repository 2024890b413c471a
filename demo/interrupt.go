package demo

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// sameSignal is the time within which a second signal counts as a copy of the first: the terminal signals the whole
// group, and a wrapper forwards its signal again.
const sameSignal = 300 * time.Millisecond

// interruptible is a context that ends at the first SIGINT, SIGTERM or SIGHUP. The second one kills the children and
// ends the process at once.
func interruptible(parent context.Context, clk clock.Clock) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
		for first := clk.Now(); clk.Now().Sub(first) < sameSignal; {
			<-signals
		}
		killChildren()
		os.Exit(130)
	}()
	return ctx, cancel
}

// killChildren kills the direct children. Database and API server end with this process anyway; the supervisors of
// tasks outlive it by design, and killing them ends their tasks.
func killChildren() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name in parentheses may contain anything; state and parent follow it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
