package mcp

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

type abortRunInput struct {
	runName
	Reason string `json:"reason" jsonschema:"why, for the people who read the run"`
}

var abortRunTool = changes("abort_run", "Stops a run with all of its actions.", abortRun)

func abortRun(ctx context.Context, s *session, in abortRunInput) (doneOutput, error) {
	_, err := s.runs.AbortRun(ctx, &workflow.AbortRunRequest{RunId: in.id(), Reason: &in.Reason})
	return doneOutput{"aborted run " + in.Run}, err
}

type abortActionInput struct {
	actionName
	Reason string `json:"reason" jsonschema:"why, for the people who read the run"`
}

var abortActionTool = changes("abort_action", "Stops one action of a run, with the actions below it. Its caller gets an error.", abortAction)

func abortAction(ctx context.Context, s *session, in abortActionInput) (doneOutput, error) {
	if in.Action == "" {
		return doneOutput{}, rpc.InvalidArgument("action", "is required; to stop the whole run, use abort_run")
	}
	_, err := s.runs.AbortAction(ctx, &workflow.AbortActionRequest{ActionId: in.actionName.id(), Reason: in.Reason})
	return doneOutput{"aborted action " + in.Action}, err
}
