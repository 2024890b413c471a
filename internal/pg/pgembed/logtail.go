package pgembed

import (
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// tailLines is how much of the server's log goes into an error.
const tailLines = 12

// logTail passes the child's output on line by line and keeps the end of it.
type logTail struct {
	log zerolog.Logger

	mu      sync.Mutex
	partial string   // GUARDED_BY(mu)
	lines   []string // GUARDED_BY(mu)
}

// Write implements io.Writer.
func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial += string(p)
	for {
		line, rest, found := strings.Cut(l.partial, "\n")
		if !found {
			return len(p), nil
		}
		l.partial = rest
		l.lines = append(l.lines, line)
		if len(l.lines) > tailLines {
			l.lines = l.lines[1:]
		}
		l.log.Debug().Str("part", "postgres").Msg(line)
	}
}

// String is the end of the log.
func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(strings.Join(append(l.lines[:len(l.lines):len(l.lines)], l.partial), "\n"))
}
