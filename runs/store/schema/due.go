package schema

import "time"

// Due says what the runs service does with an action at its wake_at.
type Due int16

// The kinds of due work. Actions of an executor end a little late: the executor knows better whether an action
// started or ended in time, and reports it within the grace period unless it is gone.
const (
	DueNothing      Due = 0
	DueStart        Due = 1 // the runs service runs it, and it is time to start
	DueEnd          Due = 2 // the runs service runs it, and it is done
	DueRuntime      Due = 3 // the runs service runs it, and its attempt has run too long
	DueQueued       Due = 4 // it must have started to initialize by now
	DueDeadline     Due = 5 // it must have ended by now; a condition must have been signalled
	DueQueuedLate   Due = 6 // as DueQueued, after the grace period for the executor
	DueDeadlineLate Due = 7 // as DueDeadline, after the grace period for the executor
	DueSubtree      Due = 8 // it has ended, and so must its children
	DueSilent       Due = 9 // its client must have reported by now
)

// Limits bound how long an action may take; 0 means no limit.
type Limits struct {
	// Queued bounds how long an attempt may wait before its start is prepared.
	Queued time.Duration
	// Deadline bounds the time from recording the action to its end.
	Deadline time.Duration
}
