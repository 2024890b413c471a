//go:build !linux

package shim

// GivesPorts is possible on Linux only.
func GivesPorts() bool { return false }

// RunWithPort is possible on Linux only.
func RunWithPort([]string) int { return exitBadSpec }
