// Package invalid collects what is wrong with a configuration, so that people correct all of it at once.
package invalid

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fields are the fields that a Validate function refuses, each with its first problem. The zero value is ready to use.
//
// Each text begins with the path of the field and a colon, as in "writer.maxBatch: must be positive, got 0".
type Fields struct {
	problems []error
	fields   []string
}

// Add refuses a field. The format is that of fmt.Errorf. A field that was refused before keeps its problem.
func (f *Fields) Add(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	field, _, _ := strings.Cut(err.Error(), ": ")
	if slices.Contains(f.fields, field) {
		return
	}
	f.fields = append(f.fields, field)
	f.problems = append(f.problems, err)
}

// If refuses a field if the condition holds.
func (f *Fields) If(wrong bool, format string, args ...any) {
	if wrong {
		f.Add(format, args...)
	}
}

// Section adds what the Validate function of a section below, or of an item of a list, has refused; err may be nil. The name of
// a list whose items have paths such as "[2].name" is followed by no dot. An empty name adds nothing to the paths.
func (f *Fields) Section(name string, err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			f.Section(name, err)
		}
		return
	}
	switch {
	case err == nil:
	case name == "" || strings.HasPrefix(err.Error(), "["):
		f.Add("%s%w", name, err)
	default:
		f.Add("%s.%w", name, err)
	}
}

// Err returns all problems, joined; nil if there are none.
func (f *Fields) Err() error { return errors.Join(f.problems...) }
