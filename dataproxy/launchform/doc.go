// Package launchform translates between Flyte's types and literals and JSON: JSON schemas for launch forms, and the
// values that people enter. It is pure; TranslatorService of dataproxy is its only user.
//
// A type and its schema determine each other as far as values need it, and the same input always gives the same
// output: lists keep the order of the interface, and fields of a JSON object are sorted by name.
package launchform

import (
	"errors"
	"fmt"
)

// ErrUnsupported says that a kind of value cannot be given as JSON.
var ErrUnsupported = errors.New("not supported in launch forms")

// maxDepth bounds how deep types and values are nested, so that a small request cannot exhaust the stack.
const maxDepth = 100

// Error says which input is wrong and why.
type Error struct {
	// Path leads to the value, such as inputs.x[2].y.
	Path string
	// Reason is for a person.
	Reason string
	// Err is ErrUnsupported or nil.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// Unwrap gives errors.Is its target.
func (e *Error) Unwrap() error { return e.Err }

func wrong(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...)}
}

func unsupported(path, what string) error {
	return &Error{Path: path, Reason: what + " cannot be given as JSON", Err: ErrUnsupported}
}
