// Package ledger records what the processes of a storm did, in files that no fault touches. The checker compares the
// server's data with it. Each process appends lines to a file of its own and holds a lock while it lives, which the kernel
// releases, so that two live processes of one attempt are always found.
package ledger

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// What a process notes.
const (
	Start    = "start"    // it began
	Overlap  = "overlap"  // another process of the same attempt lives
	Recorded = "recorded" // a child's recording was acknowledged
	Refused  = "refused"  // the server refused a child
	Seen     = "seen"     // it saw the end of a child
	Failing  = "failing"  // it is about to fail by itself
	Done     = "done"     // it wrote its outputs
	Hang     = "hang"     // it waited too long
	Secret   = "secret"   // its secret was not the one that it needs
	Alive    = "alive"    // it was asked to end, and still lives
)

// Line is one note.
type Line struct {
	At      time.Time `json:"at"`
	Run     string    `json:"run"`
	Action  string    `json:"action"`
	Attempt int       `json:"attempt"` // from 1
	Pid     int       `json:"pid"`
	Parent  int       `json:"parent,omitempty"` // of a start: the process that started it
	What    string    `json:"what"`
	Child   string    `json:"child,omitempty"`
	Phase   int32     `json:"phase,omitempty"`
	Note    string    `json:"note,omitempty"`
}

// Writer is the ledger of one process.
type Writer struct {
	who  Line
	file *os.File
	lock *os.File
	dir  string
}

// Open starts the notes of this process.
func Open(dir, run, action string, attempt int) (*Writer, error) {
	dir = filepath.Join(dir, run)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	w := &Writer{who: Line{Run: run, Action: action, Attempt: attempt, Pid: os.Getpid()}, dir: dir}
	name := filepath.Join(dir, fmt.Sprintf("%s.%d.", action, attempt))
	var err error
	if w.file, err = os.OpenFile(fmt.Sprintf("%s%d.jsonl", name, os.Getpid()), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if w.lock, err = os.OpenFile(name+"lock", os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := w.Note(Line{What: Start, Parent: os.Getppid()}); err != nil {
		return nil, err
	}
	if syscall.Flock(int(w.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return w, w.Note(Line{What: Overlap})
	}
	return w, nil
}

// Close ends the notes and releases the lock, as the end of a process does.
func (w *Writer) Close() {
	w.file.Close()
	w.lock.Close()
}

// Note appends a line.
func (w *Writer) Note(line Line) error {
	line.At, line.Run, line.Action, line.Attempt, line.Pid = time.Now().UTC(), w.who.Run, w.who.Action, w.who.Attempt, w.who.Pid
	body, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if _, err := w.file.Write(append(body, '\n')); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Failures counts how often earlier processes of this action failed by themselves.
func (w *Writer) Failures() (int, error) {
	lines, err := read(w.dir, w.who.Action+".*.jsonl")
	n := 0
	for _, line := range lines {
		if line.What == Failing {
			n++
		}
	}
	return n, err
}

// Read returns all notes of a run.
func Read(dir, run string) ([]Line, error) { return read(filepath.Join(dir, run), "*.jsonl") }

func read(dir, pattern string) ([]Line, error) {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var lines []Line
	for _, path := range paths {
		found, err := readFile(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, found...)
	}
	return lines, nil
}

func readFile(path string) ([]Line, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer file.Close()
	var lines []Line
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if strings.TrimSpace(scanner.Text()) == "" {
			continue
		}
		var line Line
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			continue // The process was killed while it wrote.
		}
		lines = append(lines, line)
	}
	return lines, nil
}
