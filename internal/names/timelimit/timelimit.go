// Package timelimit defines the time limits of an action with their codes and messages, so that the runs service and the
// executor report the same. It imports no other package of this module.
package timelimit

import (
	"fmt"
	"time"
)

// Limit is one kind of limit.
type Limit uint8

// The limits.
const (
	// Runtime is how long one attempt may run.
	Runtime Limit = iota + 1
	// Deadline is how long an action may take from its recording to its end, over all attempts.
	Deadline
	// Queued is how long an attempt may wait until something is prepared for its start.
	Queued
	// Condition is how long a condition may wait for its signal.
	Condition
)

// Code is what clients match on; the SDK has an exception for each of the first three.
func (l Limit) Code() string {
	return [...]string{"TimedOut", "MAX_RUNTIME_EXCEEDED", "DEADLINE_EXCEEDED", "QUEUED_TIMEOUT_EXCEEDED", "ConditionTimedOut"}[l]
}

// Message is the error message for a limit of length d.
func (l Limit) Message(d time.Duration) string {
	switch l {
	case Runtime:
		return fmt.Sprintf("the attempt ran longer than its timeout of %s", d)
	case Deadline:
		return fmt.Sprintf("the action did not end within its deadline of %s over all attempts", d)
	case Queued:
		return fmt.Sprintf("the attempt did not begin to start within its queued timeout of %s", d)
	case Condition:
		return fmt.Sprintf("the condition was not signalled within its timeout of %s", d)
	default:
		return fmt.Sprintf("a limit of %s is over", d)
	}
}
