package authz

import "fmt"

// DenialError is the error of a caller who may not do what the request asks. Clients get it as permission_denied.
type DenialError struct{ message string }

// Error implements error.
func (d *DenialError) Error() string { return d.message }

// Denied says that the caller may not do this.
func Denied(format string, args ...any) error { return &DenialError{fmt.Sprintf(format, args...)} }
