package authz

import "fmt"

// Denial is the error of a caller who may not do what the request asks. Clients get it as permission_denied.
type Denial struct{ message string }

// Error implements error.
func (d *Denial) Error() string { return d.message }

// Denied says that the caller may not do this.
func Denied(format string, args ...any) error { return &Denial{fmt.Sprintf(format, args...)} }
