//go:build !linux

package supervise

// activity is unknown: this system does not tell it without a program of its own.
func (*Process) activity() (activity, bool) { return activity{}, false }
