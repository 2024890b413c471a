package rpc

import (
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retryAfter is the header that says in how many seconds the same request may succeed.
const retryAfter = "Retry-After"

// TryLater says that a limit is reached, and after what time the same call may succeed.
func TryLater(after time.Duration, format string, args ...any) error {
	err := newError(KindResourceExhausted, nil, format, args).(*Error) //nolint:forcetypeassert,errcheck // it returns nothing else
	err.RetryAfter = after
	return err
}

// sayWhen puts the time to retry into an error: as a detail for clients of gRPC and Connect, and as a header for others.
func sayWhen(wire *connect.Error, after time.Duration) {
	addDetail(wire, &errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	wire.Meta().Set(retryAfter, inSeconds(after))
}

// keepWhen repeats the header of an error that another service answered.
func keepWhen(wire *connect.Error, detail *connect.ErrorDetail) {
	if value, err := detail.Value(); err == nil {
		if info, ok := value.(*errdetails.RetryInfo); ok {
			wire.Meta().Set(retryAfter, inSeconds(info.GetRetryDelay().AsDuration()))
		}
	}
}

// inSeconds is a time in whole seconds, at least one.
func inSeconds(after time.Duration) string {
	return strconv.FormatInt(max(1, int64((after+time.Second-1)/time.Second)), 10)
}
