// Package podlog reads the logs that package shim writes: one entry per line, `<time> <stdout|stderr> <F|P> <text>`,
// where P marks a part of a line. A log that grew too large was rotated to a file of the same name with .1.
// The local node serves these logs over HTTP.
package podlog

import "time"

// Options select a part of a log and its form, as in the Pod API.
type Options struct {
	// Follow continues until the container has ended.
	Follow bool
	// Tail is the number of last lines, negative for all.
	Tail int64
	// Since leaves out what was written before.
	Since time.Time
	// Limit is the most bytes that are returned, 0 for no limit.
	Limit int64
	// Timestamps puts the time before each line.
	Timestamps bool
	// Stream is "stdout" or "stderr", or empty for both.
	Stream string
}
