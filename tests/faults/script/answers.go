package script

import "time"

// How a condition is answered.
const (
	AnswerSignal  = "signal"
	AnswerAbort   = "abort"
	AnswerTimeout = "timeout"
)

// ConditionTimeout is the timeout of a condition that must time out.
const ConditionTimeout = 2 * time.Second
