package script

import "time"

// How a condition is answered.
const (
	AnswerSignal  = "signal"
	AnswerAbort   = "abort"
	AnswerTimeout = "timeout"
)

// ConditionTimeout is how long a condition waits that is to time out.
const ConditionTimeout = 2 * time.Second
