// Package traceback finds Python tracebacks in the log of a task. It imports nothing of this project.
//
// The form is that of the interpreter, as https://docs.python.org/3/library/traceback.html prints it.
package traceback

import (
	"regexp"
	"strconv"
	"strings"
)

// Relation is how an exception belongs to the one that was raised after it.
type Relation int

const (
	// None is the relation of the exception that ended the program.
	None Relation = iota
	// Cause means that the later exception was raised from this one.
	Cause
	// Context means that the later exception was raised while this one was handled.
	Context
)

// Frame is a call.
type Frame struct {
	File, Function, Code string
	Line                 int
	// Own is true for the code of the task, and false for libraries and the interpreter.
	Own bool
}

// Exception is an exception with its stack, outermost call first.
type Exception struct {
	Type, Message string
	Relation      Relation
	Frames        []Frame
}

// Chain are exceptions that belong together: the one that ended the program, the one that caused it, and so on.
type Chain struct {
	Exceptions []Exception
	// Line is how many lines of the log are before the chain.
	Line int
}

const (
	maxFrames = 100 // of an exception; the last ones are kept
	maxChain  = 20  // exceptions of a chain; the last ones are kept
	maxText   = 1000
)

// Scanner reads a log line by line. Its memory does not grow with the log.
type Scanner struct {
	code  string
	line  int
	state state
	chain Chain // in the order of the log
	link  Relation
	last  Chain // the latest complete chain
	found Chain // the latest whose exception is the wanted one
}

type state int

const (
	outside state = iota
	stack         // in the frames of an exception
	after         // behind an exception, which may be the cause of another
)

// NewScanner returns a scanner that prefers tracebacks of exceptions of a type; empty means the last of all.
func NewScanner(code string) *Scanner { return &Scanner{code: code} }

const (
	header  = "Traceback (most recent call last):"
	cause   = "The above exception was the direct cause of the following exception:"
	context = "During handling of the above exception, another exception occurred:"
)

var frame = regexp.MustCompile(`^  File "(.+)", line (\d+)(?:, in (.+))?$`)

// Line adds the next line of the log, without its end.
func (s *Scanner) Line(text string) {
	defer func() { s.line++ }()
	switch {
	case text == header:
		s.begin()
	case s.state == stack && strings.HasPrefix(text, " "):
		s.inside(text)
	case s.state == stack && text != "":
		s.end(text)
	case s.state == after && text == cause:
		s.link = Cause
	case s.state == after && text == context:
		s.link = Context
	}
}

// Found is the chain of the wanted exception, or the last one; false if there was none.
func (s *Scanner) Found() (Chain, bool) {
	found := s.found
	if len(found.Exceptions) == 0 {
		found = s.last
	}
	return found, len(found.Exceptions) > 0
}

func (s *Scanner) begin() {
	if s.state != after || s.link == None {
		s.chain = Chain{Line: s.line}
	}
	// The relation that the sentence between two exceptions tells is that of the one before it.
	if n := len(s.chain.Exceptions); n > 0 {
		s.chain.Exceptions[n-1].Relation = s.link
	}
	if len(s.chain.Exceptions) == maxChain {
		s.chain.Exceptions = s.chain.Exceptions[1:]
	}
	s.chain.Exceptions = append(s.chain.Exceptions[:len(s.chain.Exceptions):len(s.chain.Exceptions)], Exception{})
	s.state, s.link = stack, None
}

func (s *Scanner) inside(text string) {
	current := &s.chain.Exceptions[len(s.chain.Exceptions)-1]
	if match := frame.FindStringSubmatch(text); match != nil {
		line, _ := strconv.Atoi(match[2]) // digits; 0 for a number that no file has
		if len(current.Frames) == maxFrames {
			current.Frames = append([]Frame{}, current.Frames[1:]...)
		}
		current.Frames = append(current.Frames, Frame{File: cut(inBundle(match[1])), Line: line, Function: cut(match[3]), Own: own(match[1])})
		return
	}
	// Below a frame is its source, then marks below the part of it that failed.
	n := len(current.Frames)
	if code := strings.TrimSpace(text); n > 0 && current.Frames[n-1].Code == "" && strings.HasPrefix(text, "    ") && strings.Trim(code, "^~ ") != "" {
		current.Frames[n-1].Code = cut(code)
	}
}

func (s *Scanner) end(text string) {
	current := &s.chain.Exceptions[len(s.chain.Exceptions)-1]
	current.Type, current.Message, _ = strings.Cut(cut(text), ": ")
	s.state = after
	complete := Chain{Line: s.chain.Line}
	for i := len(s.chain.Exceptions) - 1; i >= 0; i-- {
		complete.Exceptions = append(complete.Exceptions, s.chain.Exceptions[i])
	}
	s.last = complete
	if short := current.Type[strings.LastIndex(current.Type, ".")+1:]; s.code != "" && short == s.code {
		s.found = complete
	}
}

// own reports whether a file is the task's own code.
func own(file string) bool {
	for _, part := range []string{"/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3"} {
		if strings.Contains(file, part) {
			return false
		}
	}
	return !strings.HasPrefix(file, "<")
}

// inBundle is the path of a file below the directory of the code bundle: the SDK imports its modules from "./".
func inBundle(file string) string {
	if at := strings.LastIndex(file, "/./"); at >= 0 {
		return file[at+len("/./"):]
	}
	return file
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
