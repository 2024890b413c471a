// Package progress remembers in a file which storms went well, so that a long series can be stopped and continued.
package progress

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// File remembers storms. The zero value remembers nothing.
type File struct {
	path   string
	passed map[string]bool // by the line of the storm
}

// Open reads a file, which need not exist; without a path, nothing is remembered.
func Open(path string) (*File, error) {
	f := &File{path: path, passed: map[string]bool{}}
	if path == "" {
		return f, nil
	}
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which storms passed: %w", err)
	}
	defer from.Close()
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if storm, passed := strings.CutSuffix(lines.Text(), " passed"); passed {
			f.passed[storm] = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read which storms passed: %w", err)
	}
	return f, nil
}

// Passed reports whether a storm of a seed passed. flags are those that decide what a seed means.
func (f *File) Passed(seed uint64, flags string) bool { return f.passed[line(seed, flags)] }

// Note appends how a storm went.
func (f *File) Note(seed uint64, flags string, passed bool) error {
	if f.path == "" {
		return nil
	}
	verdict := "failed"
	if passed {
		verdict = "passed"
		f.passed[line(seed, flags)] = true
	}
	to, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("note how storm %d went: %w", seed, err)
	}
	_, err = fmt.Fprintln(to, line(seed, flags), verdict)
	if err := errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("note how storm %d went: %w", seed, err)
	}
	return nil
}

func line(seed uint64, flags string) string { return fmt.Sprintf("seed %d%s", seed, flags) }
