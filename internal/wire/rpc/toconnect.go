package rpc

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// toConnect is the only place that converts our errors to Connect errors.
func toConnect(err error) *connect.Error {
	var theirs *connect.Error
	var ours *Error
	if errors.As(err, &ours) {
		return oursToConnect(ours)
	}
	if errors.As(err, &theirs) {
		return passOn(theirs)
	}
	return connect.NewError(KindOf(err).Code(), errors.New(publicText(err)))
}

// FromCode is an error that came with its code in a message, from another part of this installation.
func FromCode(code connect.Code, message string) error {
	return &Error{Kind: kindOfCode(code), Message: message}
}

func oursToConnect(err *Error) *connect.Error {
	wire := connect.NewError(err.Kind.Code(), errors.New(err.Public()))
	if err.Kind == KindInvalidArgument && err.Field != "" {
		addDetail(wire, violation(err.Field, err.Message))
	}
	if err.Detail != nil {
		addDetail(wire, err.Detail)
	}
	if err.RetryAfter > 0 {
		sayWhen(wire, err.RetryAfter)
	}
	if parts := err.Parts; parts != nil && !sentence.IsFree(parts) && proto.Size(parts) <= maxParts {
		addDetail(wire, parts)
	}
	return wire
}

// maxParts is the most bytes that the parts of a message may have: details are in headers, of which clients take 8 KB in all.
const maxParts = 1 << 10

// passOn keeps code, message and details of what another service answered, but of its headers only the time to retry, and never
// the code unknown.
func passOn(err *connect.Error) *connect.Error {
	code := kindOfCode(err.Code()).Code()
	wire := connect.NewError(code, errors.New(err.Message()))
	for _, detail := range err.Details() {
		wire.AddDetail(detail)
		keepWhen(wire, detail)
	}
	return wire
}

// violation has the shape in which the validation interceptor names fields, so that clients need one parser.
func violation(field, message string) *validate.Violations {
	var path validate.FieldPath
	for name := range strings.SplitSeq(field, ".") {
		path.Elements = append(path.Elements, &validate.FieldPathElement{FieldName: proto.String(name)})
	}
	return &validate.Violations{Violations: []*validate.Violation{{Field: &path, Message: proto.String(message)}}}
}

func addDetail(wire *connect.Error, message proto.Message) {
	// Only an unmarshallable message makes an error; ours are well formed, and a lost detail loses no meaning.
	if detail, err := connect.NewErrorDetail(message); err == nil {
		wire.AddDetail(detail)
	}
}

// retryAfter is the header that says in how many seconds the same request may succeed.
const retryAfter = "Retry-After"

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
