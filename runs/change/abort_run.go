package change

import (
	"cmp"
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// defaultAbortReason is stored when the caller gives none.
const defaultAbortReason = "aborted on request"

// AbortWriter aborts actions with everything below them; store.Writer does.
type AbortWriter interface {
	Abort(ctx context.Context, abort store.Abort) error
}

// Aborter aborts runs and actions. Writer is required.
type Aborter struct{ Writer AbortWriter }

// AbortRun implements workflowconnect.RunServiceHandler. Aborting a run that has ended is not an error.
func (a *Aborter) AbortRun(ctx context.Context, request *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error) {
	if err := a.abort(ctx, ident.RunOf(request.GetRunId()).Root(), request.GetReason()); err != nil {
		return nil, err
	}
	return &workflow.AbortRunResponse{}, nil
}

// AbortAction implements workflowconnect.RunServiceHandler: the action and everything below it.
func (a *Aborter) AbortAction(ctx context.Context, request *workflow.AbortActionRequest) (*workflow.AbortActionResponse, error) {
	if err := a.abort(ctx, ident.ActionOf(request.GetActionId()), request.GetReason()); err != nil {
		return nil, err
	}
	return &workflow.AbortActionResponse{}, nil
}

func (a *Aborter) abort(ctx context.Context, action ident.Action, reason string) error {
	by, err := caller.Encoded(ctx)
	if err != nil {
		return err
	}
	return a.Writer.Abort(ctx, store.Abort{Action: action, Reason: cmp.Or(reason, defaultAbortReason), By: by})
}
