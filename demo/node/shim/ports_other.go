//go:build !linux

package shim

// GivesPorts is possible on Linux only.
func GivesPorts() bool { return false }

// GivesNames is possible on Linux only.
func GivesNames() bool { return false }

// NamesCommand is for Linux only.
const NamesCommand = "internal-names"

// RunWithNames is possible on Linux only.
func RunWithNames([]string) int { return exitBadSpec }

// RunWithPort is possible on Linux only.
func RunWithPort([]string) int { return exitBadSpec }
