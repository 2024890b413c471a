package supervise

import (
	"fmt"
	"io"
	"os"
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

// tailBytes is how much of a program's output an error carries.
const tailBytes = 2 << 10

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
	text := strings.TrimSpace(p.outputTail())
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
		_, _ = file.Seek(max(0, size-tailBytes), io.SeekStart)
	}
	text, _ := io.ReadAll(file)
	return string(text)
}
