//go:build !linux

package stack

import "time"

// mountSmall does nothing here, so the disk is never full.
func mountSmall(string) bool { return false }

func unmount(string) {}

// processesOf is unknown here.
func processesOf(string) []int { return nil }

// Memory is unknown here.
func Memory(int) int64 { return 0 }

// Processor is unknown here.
func Processor() time.Duration { return 0 }
