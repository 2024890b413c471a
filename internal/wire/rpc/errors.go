package rpc

import (
	"time"

	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Error is a failure with a kind. Message is meant for clients and never has text of the cause; the cause, Err, is
// for logs.
type Error struct {
	Kind Kind
	// Field is the path of the invalid field of the request, such as run_id.name; empty if there is none.
	Field string
	// Message is the text for clients.
	Message string
	// Parts are the message for clients that say it in other languages; nil for none.
	Parts *insightv1.Sentence
	// RetryAfter is when the same call may succeed; 0 if that is not known. See TryLater.
	RetryAfter time.Duration
	// Detail is for programs; nil for none.
	Detail proto.Message
	// Err is the cause; may be nil.
	Err error
}

// Error implements error. It has the cause too, since it is written to logs.
func (e *Error) Error() string {
	text := e.Public()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Public is the text for clients: the field and the message, without the cause.
func (e *Error) Public() string {
	message := e.Message
	if message == "" {
		message = e.Kind.String()
	}
	if e.Field != "" {
		return e.Field + ": " + message
	}
	return message
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Is makes two errors without further content equal when their kinds are, so that errors.Is(err, &Error{Kind: k})
// asks for a kind.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Field == "" && other.Message == "" && other.Err == nil && other.Kind == e.Kind
}

// InvalidArgument blames a field of the request, given by its path in proto names.
func InvalidArgument(field, format string, args ...any) error {
	message := sentence.New(format, args...)
	return &Error{Kind: KindInvalidArgument, Field: field, Message: message.String(), Parts: message.Parts()}
}

// NotFound says that the requested object does not exist.
func NotFound(format string, args ...any) error { return newError(KindNotFound, nil, format, args) }

// AlreadyExists says that another object has the name.
func AlreadyExists(format string, args ...any) error {
	return newError(KindAlreadyExists, nil, format, args)
}

// Aborted says that a concurrent change won; the caller may start over.
func Aborted(format string, args ...any) error { return newError(KindAborted, nil, format, args) }

// FailedPrecondition says that the state forbids the operation, and that a plain retry does not help.
func FailedPrecondition(format string, args ...any) error {
	return newError(KindFailedPrecondition, nil, format, args)
}

// ResourceExhausted says that a limit is reached. Clients retry such calls.
func ResourceExhausted(format string, args ...any) error {
	return newError(KindResourceExhausted, nil, format, args)
}

// TryLater says that a limit is reached, and after what time the same call may succeed.
func TryLater(after time.Duration, format string, args ...any) error {
	err := newError(KindResourceExhausted, nil, format, args).(*Error) //nolint:forcetypeassert,errorlint // it returns nothing else
	err.RetryAfter = after
	return err
}

// Unavailable says that a dependency of the service does not answer. Clients retry such calls. err may be nil.
func Unavailable(err error, format string, args ...any) error {
	return newError(KindUnavailable, err, format, args)
}

// Unimplemented says that the operation is not built.
func Unimplemented(format string, args ...any) error {
	return newError(KindUnimplemented, nil, format, args)
}

// PermissionDenied says that the caller may not do this.
func PermissionDenied(format string, args ...any) error {
	return newError(KindPermissionDenied, nil, format, args)
}

// Unauthenticated says that the caller must authenticate.
func Unauthenticated(format string, args ...any) error {
	return newError(KindUnauthenticated, nil, format, args)
}

// DeadlineExceeded says that the deadline has passed.
func DeadlineExceeded(format string, args ...any) error {
	return newError(KindDeadlineExceeded, nil, format, args)
}

// OutOfRange says that a position lies beyond the end, such as an old page token.
func OutOfRange(format string, args ...any) error { return newError(KindOutOfRange, nil, format, args) }

// DataLoss says that stored data are damaged. err may be nil.
func DataLoss(err error, format string, args ...any) error {
	return newError(KindDataLoss, err, format, args)
}

// Internal is a fault of the server. Clients see the message and an id; the cause is logged under that id.
func Internal(err error, format string, args ...any) error {
	return newError(KindInternal, err, format, args)
}

func newError(kind Kind, cause error, format string, args []any) error {
	message := sentence.New(format, args...)
	return &Error{Kind: kind, Message: message.String(), Parts: message.Parts(), Err: cause}
}
