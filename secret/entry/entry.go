package entry

import (
	"fmt"
	"time"
)

// Type says what a secret is for.
type Type uint8

// The types.
const (
	// Generic is any value.
	Generic Type = iota
	// ImagePull is a Docker configuration with the credentials of registries.
	ImagePull
)

// String is how backends store the type.
func (t Type) String() string {
	if t == ImagePull {
		return "image-pull"
	}
	return "generic"
}

// ParseType is the reverse of String. What has no known type is generic.
func ParseType(text string) Type {
	if text == ImagePull.String() {
		return ImagePull
	}
	return Generic
}

// Content is what a backend stores under an ID.
type Content struct {
	Type  Type
	Value Value
}

// Metadata is everything about a secret but its value.
type Metadata struct {
	ID      ID
	Type    Type
	Created time.Time
}

// Page is a part of a list.
type Page struct {
	Entries []Metadata
	// Next continues the list; empty at its end. Only the backend that made it understands it.
	Next string
}

// sentinel is an error without details.
type sentinel string

// Error implements error.
func (s sentinel) Error() string { return string(s) }

// Errors of backends. Any other error means that the backend cannot answer now.
const (
	// ErrNotFound means that the backend has no such secret.
	ErrNotFound = sentinel("there is no such secret")
	// ErrExists means that a secret of that name exists.
	ErrExists = sentinel("the secret exists")
	// ErrConflict means that another request changed the secret at the same time.
	ErrConflict = sentinel("the secret was changed at the same time")
	// ErrBadToken means that a list cannot be continued with this token.
	ErrBadToken = sentinel("the list cannot be continued with this token")
)

// TooLargeError means that the backend does not store values of this size.
type TooLargeError struct{ Limit int }

// Error implements error.
func (e TooLargeError) Error() string {
	return fmt.Sprintf("the value is larger than %d bytes", e.Limit)
}

// UnavailableError means that the backend cannot answer, for a reason that clients may read.
type UnavailableError struct {
	Words string
	Err   error
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if e.Err == nil {
		return e.Words
	}
	return e.Words + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
