package failure

import (
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// maxMessage is how many bytes of an error's text are kept; the SDK shows messages whole, and the log has the rest.
const maxMessage = 16 << 10

// Failure is why one attempt was lost.
type Failure struct {
	Reason Reason
	Class  Class
	// Recoverable says that another attempt may go better.
	Recoverable bool
	// Code is what clients match on: the reason, or the code that the task itself gave.
	Code string
	// Message explains it.
	Message string
	// Origin is whose fault the task itself says it is, where that is not what the class says.
	Origin core.ExecutionError_ErrorKind
}

// New is the failure of a row, with a detail in the words of whoever observed it. The detail may be empty.
func New(reason Reason, detail string, args ...any) *Failure {
	row := Table()[reason]
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	message := row.Words
	if detail = strings.TrimSpace(detail); detail != "" {
		message += ": " + detail
	}
	return &Failure{Reason: reason, Class: row.Class, Recoverable: row.Recoverable, Code: string(reason), Message: clip(message)}
}

// FromTask is the failure that the task reported in its error document. Whomever it blames, it is the task that failed,
// and its own retries are what it has against that.
func FromTask(reported *core.ContainerError) *Failure {
	result := &Failure{
		Reason:      TaskFailed,
		Class:       User,
		Recoverable: reported.GetKind() == core.ContainerError_RECOVERABLE,
		Code:        reported.GetCode(),
		Message:     clip(reported.GetMessage()),
	}
	if result.Code == "" {
		result.Code = string(TaskFailed)
	}
	if result.Message == "" {
		result.Message = Table()[TaskFailed].Words
	}
	result.Origin = reported.GetOrigin()
	return result
}

// OverTime is the failure of an attempt whose time is over, in the words of that limit.
func OverTime(reason Reason, words string) *Failure {
	row := Table()[reason]
	return &Failure{Reason: reason, Class: row.Class, Recoverable: row.Recoverable, Code: string(reason), Message: words}
}

// TimedOut says that the attempt was lost because its time was over.
func (f *Failure) TimedOut() bool {
	return f.Reason == RuntimeExceeded || f.Reason == DeadlineExceeded || f.Reason == QueuedTooLong
}

// With adds a detail to the message.
func (f *Failure) With(detail string) *Failure {
	result := *f
	result.Message = clip(f.Message + "; " + detail)
	return &result
}

// GivenUp is the last failure of an action whose system budget is used up.
func (f *Failure) GivenUp(failures int32) *Failure {
	result := *f
	result.Recoverable = false
	result.Code = string(MaxSystemFailuresExceeded) + "|" + f.Code
	result.Message = clip(fmt.Sprintf("%s (%d); the last time: %s", Table()[MaxSystemFailuresExceeded].Words, failures, f.Message))
	return &result
}

// IsUsers says whether the attempt counts against the task's own retries.
func (f *Failure) IsUsers() bool { return f.Class == User }

// Proto is the failure as clients get it.
func (f *Failure) Proto() *core.ExecutionError {
	result := &core.ExecutionError{
		Code:           f.Code,
		Message:        f.Message,
		Kind:           core.ExecutionError_SYSTEM,
		Recoverability: core.ContainerError_NON_RECOVERABLE,
	}
	if f.IsUsers() && f.Origin != core.ExecutionError_SYSTEM {
		result.Kind = core.ExecutionError_USER
	}
	if f.Recoverable {
		result.Recoverability = core.ContainerError_RECOVERABLE
	}
	return result
}

// clip keeps the beginning and the end, where tracebacks have their point.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	half := maxMessage/2 - 8
	return strings.ToValidUTF8(text[:half], "") + "\n[...]\n" + strings.ToValidUTF8(text[len(text)-half:], "")
}
