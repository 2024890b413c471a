package failure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// maxMessage is how many bytes of an error's text are kept. The SDK shows messages whole, and the log has the rest.
const maxMessage = 16 << 10

// Failure is why one attempt was lost. It is an error, so that code that builds or reads the objects of an attempt has
// one way to report both: a *Failure in an error's chain means that the attempt is lost; any other error says nothing
// about the attempt, and the operation is retried.
//
//nolint:errname // the domain's word, see docs/failures.md
type Failure struct {
	Reason Reason
	Class  Class
	// Recoverable means that another attempt may succeed.
	Recoverable bool
	// Code is what clients match on: the reason, or the code that the task itself reported.
	Code string
	// Message explains the failure to the owner of the task.
	Message string
	// Origin is who the task itself blames, where that differs from Class.
	Origin core.ExecutionError_ErrorKind
	// Member is the pod that failed, in an attempt that has several; it begins the message. May be empty.
	Member string
}

// New returns the failure of a reason. The detail follows the words of the table; it is formatted when there are args and
// may be empty.
func New(reason Reason, detail string, args ...any) *Failure {
	row := Table()[reason]
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	message := row.Words
	if detail = strings.TrimSpace(detail); detail != "" {
		message += ": " + detail
	}
	return &Failure{Reason: reason, Class: row.Class, Recoverable: row.Recoverable, Code: string(reason), Message: clip.Middle(message, maxMessage)}
}

// FromTask returns the failure that the task reported in its error document. Whatever the document blames, the task
// failed, and only its own retries apply. The exception is a document that the co-pilot wrote because it failed itself: the task
// had no part in that. copilot says that the task has one; without it, no one but the task can have written the document.
func FromTask(reported *core.ContainerError, copilot bool) *Failure {
	if copilot && reported.GetCode() == string(CopilotFailed) && reported.GetOrigin() == core.ExecutionError_SYSTEM {
		return New(CopilotFailed, "%s", reported.GetMessage())
	}
	result := &Failure{
		Reason:      TaskFailed,
		Class:       User,
		Recoverable: reported.GetKind() == core.ContainerError_RECOVERABLE,
		Code:        reported.GetCode(),
		Message:     clip.Middle(reported.GetMessage(), maxMessage),
		Origin:      reported.GetOrigin(),
	}
	if result.Code == "" {
		result.Code = string(TaskFailed)
	}
	if result.Message == "" {
		result.Message = Table()[TaskFailed].Words
	}
	return result
}

// OverTime returns the failure of an attempt that exceeded a time limit. The words name the limit and replace those of
// the table.
func OverTime(reason Reason, words string) *Failure {
	row := Table()[reason]
	return &Failure{Reason: reason, Class: row.Class, Recoverable: row.Recoverable, Code: string(reason), Message: words}
}

// Of returns the failure in the chain of an error; nil when there is none.
func Of(err error) *Failure {
	var found *Failure
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// Error implements error.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// TimedOut reports whether the attempt exceeded one of its time limits.
func (f *Failure) TimedOut() bool {
	return f.Reason == RuntimeExceeded || f.Reason == DeadlineExceeded || f.Reason == QueuedTooLong
}

// With returns the failure with a detail appended to its message.
func (f *Failure) With(detail string) *Failure {
	result := *f
	result.Message = clip.Middle(f.Message+"; "+detail, maxMessage)
	return &result
}

// In returns the failure as that of a member of the attempt.
func (f *Failure) In(member string) *Failure {
	result := *f
	result.Member = member
	result.Message = clip.Middle(member+": "+f.Message, maxMessage)
	return &result
}

// GivenUp returns the final failure of an action whose budget for system failures is exhausted after this many.
func (f *Failure) GivenUp(failures int32) *Failure {
	result := *f
	result.Recoverable = false
	result.Code = string(MaxSystemFailuresExceeded) + "|" + f.Code
	result.Message = clip.Middle(fmt.Sprintf("%s (%d); the last time: %s", Table()[MaxSystemFailuresExceeded].Words, failures, f.Message), maxMessage)
	return &result
}

// IsUsers reports whether the attempt consumes one of the task's own retries.
func (f *Failure) IsUsers() bool { return f.Class == User }

// Proto returns the failure as clients receive it.
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
