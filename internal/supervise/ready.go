package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// AwaitReady calls ready, with pauses, until it returns nil. It fails when the program ends or the context does; the
// error then has the last failure and the end of the program's output. The context of ready ends with the program.
func (p *Process) AwaitReady(ctx context.Context, clk clock.Clock, pause time.Duration, ready func(context.Context) error) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-asking.Done():
		}
	}()
	for {
		err := ready(asking)
		if err == nil {
			return nil
		}
		if clock.Sleep(asking, clk, pause) == nil {
			continue
		}
		if !p.Alive() {
			return fmt.Errorf("%s ended before it was ready (%w)%s", p.spec.Name, p.Err(), p.lastOutput())
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s is not ready: %w%s", p.spec.Name, errors.Join(context.Cause(ctx), err), p.lastOutput())
		}
	}
}

// tailBytes is how much of a program's output an error carries.
const tailBytes = 2 << 10

// lastOutput is the end of what the program wrote, as the end of an error.
func (p *Process) lastOutput() string {
	text, from := "", ""
	if p.spec.LogFile != "" {
		text, from = tail(p.spec.LogFile), ", from "+p.spec.LogFile
	} else if output, ok := p.spec.Output.(fmt.Stringer); ok {
		text = output.String()
	}
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "; its last output" + from + ":\n" + text
}

func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		_, _ = file.Seek(max(0, size-tailBytes), io.SeekStart)
	}
	text, _ := io.ReadAll(file)
	return string(text)
}
