package supervise

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
)

// counted counts what a program writes.
type counted struct {
	to    io.Writer
	bytes atomic.Int64
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.to.Write(p)
}

// String is what the writer remembers, if it does.
func (c *counted) String() string {
	if remembers, ok := c.to.(fmt.Stringer); ok {
		return remembers.String()
	}
	return ""
}

// output is how much the program has written.
func (p *Process) output() int64 {
	if p.written != nil {
		return p.written.bytes.Load()
	}
	info, err := os.Stat(p.spec.LogFile)
	if err != nil {
		return 0
	}
	return info.Size()
}

const (
	// tailBytes is how much of a program's output an error carries.
	tailBytes = 2 << 10
	// stackBytes is how much of the end of a log may be the stack of a Go program that has panicked.
	stackBytes = 256 << 10
)

// stackOf is the first line of a goroutine in a Go program's stack.
var stackOf = regexp.MustCompile(`(?m)^goroutine \d+ (gp=\S+ )?.*\[.*\]:$`)

// withoutStack is the end of an output, as much as an error carries. Of a Go program that has panicked it is what was written before
// the stack: the reason is there.
func withoutStack(text string) string {
	for _, start := range []string{"\npanic: ", "\nfatal error: "} {
		at := strings.LastIndex("\n"+text, start)
		if at < 0 {
			continue
		}
		if stack := stackOf.FindStringIndex(text[at:]); stack != nil {
			text = text[:at+stack[0]]
			break
		}
	}
	return text[max(0, len(text)-tailBytes):]
}

// outputTail is the end of what the program wrote.
func (p *Process) outputTail() string {
	if p.written != nil {
		return p.written.String()
	}
	if p.spec.LogFile == "" {
		return ""
	}
	return tail(p.spec.LogFile)
}

// lastOutput is the end of what the program wrote, as the end of an error.
func (p *Process) lastOutput() string {
	from := ""
	if p.spec.LogFile != "" {
		from = ", from " + p.spec.LogFile
	}
	text := strings.TrimSpace(withoutStack(p.outputTail()))
	if text == "" {
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
		_, _ = file.Seek(max(0, size-stackBytes), io.SeekStart)
	}
	text, _ := io.ReadAll(file)
	return string(text)
}
