package rpc

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// audit hands what callers do to the auditor; nil records nothing. Calls within the process are parts of a call that is
// recorded, or of no call.
type audit struct{ auditor authz.Auditor }

// begin is called before an allowed call is handled, with the context that it returns. end is nil if the call is recorded at its
// end alone.
func (a audit) begin(ctx context.Context, entry authz.Entry) (handled context.Context, end func(authz.Outcome, error), err error) {
	auditor, ok := a.auditor.(authz.Beginning)
	if !ok || isInProcess(ctx) {
		return ctx, nil, nil
	}
	return auditor.Begin(ctx, entry)
}

// record is called where a call ends. The entry has its outcome already if the error does not tell that the call was refused.
func (a audit) record(ctx context.Context, entry authz.Entry) {
	if a.auditor == nil || isInProcess(ctx) {
		return
	}
	if entry.Outcome == 0 {
		entry.Outcome = outcomeOf(entry.Err)
	}
	a.auditor.Record(ctx, entry)
}

// outcomeOf is the outcome of a call by the error for its client.
func outcomeOf(err error) authz.Outcome {
	if err == nil {
		return authz.Succeeded
	}
	if kind := KindOf(err); kind == KindPermissionDenied || kind == KindUnauthenticated {
		return authz.Refused
	}
	return authz.Failed
}

// refusalIn is the outcome of a question to the authoriser that failed: what a caller may not see is not found, but refused all
// the same. It is 0 for what the code of the error tells.
func refusalIn(err error) authz.Outcome {
	var denial *authz.DenialError
	if errors.As(err, &denial) {
		return authz.Refused
	}
	return 0
}
