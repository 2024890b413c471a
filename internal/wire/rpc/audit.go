package rpc

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// audit hands what callers do to the auditor; nil records nothing.
type audit struct{ auditor authz.Auditor }

// record is called where a call ends. Calls within the process are parts of a call that is recorded, or of no call.
func (a audit) record(ctx context.Context, request authz.Request, rule authz.Rule, resources []authz.Resource, err error) {
	if a.auditor == nil || isInProcess(ctx) {
		return
	}
	outcome := authz.Succeeded
	if err != nil {
		outcome = authz.Failed
		if kind := KindOf(err); kind == KindPermissionDenied || kind == KindUnauthenticated {
			outcome = authz.Refused
		}
	}
	a.auditor.Record(ctx, authz.Entry{Request: request, Rule: rule, Resources: resources, Outcome: outcome, Err: err})
}
