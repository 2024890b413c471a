package authz

import "fmt"

// DenialError is the error of a caller who may not do what the request asks. Clients get it as permission_denied, or as
// not_found if the caller may not know of what the request names.
type DenialError struct {
	message string
	// Hidden means that the caller may not see the resource. The text must not depend on whether it exists.
	Hidden bool
}

// Error implements error.
func (d *DenialError) Error() string { return d.message }

// Denied says that the caller may not do this.
func Denied(format string, args ...any) error {
	return &DenialError{message: fmt.Sprintf(format, args...)}
}

// Hidden says that the caller may not see what the request names, whether it exists or not.
func Hidden(format string, args ...any) error {
	return &DenialError{message: fmt.Sprintf(format, args...), Hidden: true}
}
