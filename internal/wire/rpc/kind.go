package rpc

import "connectrpc.com/connect"

// Kind says what sort of failure an error is. The zero value is Internal, so that a forgotten kind never turns
// into a success or into the code unknown.
type Kind uint8

// The kinds. Their meaning is that of the Connect code of the same name.
const (
	KindInternal Kind = iota
	KindInvalidArgument
	KindNotFound
	KindAlreadyExists
	KindAborted
	KindFailedPrecondition
	KindResourceExhausted
	KindUnavailable
	KindUnimplemented
	KindPermissionDenied
	KindUnauthenticated
	KindDeadlineExceeded
	KindOutOfRange
	KindDataLoss
	KindCanceled
)

// kinds is the one table between kinds and Connect codes.
var kinds = [...]struct {
	code connect.Code
	name string
}{
	KindInternal:           {connect.CodeInternal, "internal"},
	KindInvalidArgument:    {connect.CodeInvalidArgument, "invalid argument"},
	KindNotFound:           {connect.CodeNotFound, "not found"},
	KindAlreadyExists:      {connect.CodeAlreadyExists, "already exists"},
	KindAborted:            {connect.CodeAborted, "aborted"},
	KindFailedPrecondition: {connect.CodeFailedPrecondition, "failed precondition"},
	KindResourceExhausted:  {connect.CodeResourceExhausted, "resource exhausted"},
	KindUnavailable:        {connect.CodeUnavailable, "unavailable"},
	KindUnimplemented:      {connect.CodeUnimplemented, "unimplemented"},
	KindPermissionDenied:   {connect.CodePermissionDenied, "permission denied"},
	KindUnauthenticated:    {connect.CodeUnauthenticated, "unauthenticated"},
	KindDeadlineExceeded:   {connect.CodeDeadlineExceeded, "deadline exceeded"},
	KindOutOfRange:         {connect.CodeOutOfRange, "out of range"},
	KindDataLoss:           {connect.CodeDataLoss, "data loss"},
	KindCanceled:           {connect.CodeCanceled, "canceled"},
}

// Code is the Connect code of the kind.
func (k Kind) Code() connect.Code {
	if int(k) >= len(kinds) {
		return connect.CodeInternal
	}
	return kinds[k].code
}

// String is the kind in words.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return kinds[KindInternal].name
	}
	return kinds[k].name
}

// kindOfCode is the inverse of Code; the code unknown, which we never send, is read as internal.
func kindOfCode(code connect.Code) Kind {
	for kind := range kinds {
		if kinds[kind].code == code {
			return Kind(kind)
		}
	}
	return KindInternal
}
