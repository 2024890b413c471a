// Package terminal prints the demo's output: one line per component when it is ready. Everything else goes to log
// files.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Terminal prints lines. It is safe for concurrent use.
type Terminal struct {
	out   io.Writer
	clock clock.Clock
	mu    sync.Mutex
}

// New prints to the writer.
func New(out io.Writer, clock clock.Clock) *Terminal { return &Terminal{out: out, clock: clock} }

// Line prints one line.
func (t *Terminal) Line(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.out, format+"\n", args...)
}

// Step starts a component and prints how long it took. detail may be empty.
func (t *Terminal) Step(name, detail string, start func() error) error {
	began := t.clock.Now()
	if err := start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if detail != "" {
		detail = "  " + detail
	}
	t.Line("  %-12s %6s%s", name, seconds(t.clock.Now().Sub(began)), detail)
	return nil
}

// Write implements io.Writer for the output of programs.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}

// seconds formats a duration in seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// IsTerminal reports whether the writer is a terminal.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
