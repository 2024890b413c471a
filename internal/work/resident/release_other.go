//go:build !linux

package resident

// Release does nothing on this system.
func Release() error { return nil }
