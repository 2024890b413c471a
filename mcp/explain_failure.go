package mcp

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

type explainFailureInput struct {
	runName
	Action string `json:"action,omitempty" jsonschema:"the failed action; by default the first one that failed by itself"`
}

type explainFailureOutput struct {
	Action   string       `json:"action"`
	Title    string       `json:"title,omitempty"`
	Parent   string       `json:"parent,omitempty"`
	Phase    string       `json:"phase"`
	Attempts uint32       `json:"attempts"`
	Error    *errorOutput `json:"error,omitempty"`
	// Exceptions are those of the traceback: the one that ended the attempt, then what caused it.
	Exceptions []exceptionOutput `json:"exceptions,omitempty"`
	// NoTraceback says why there are no exceptions.
	NoTraceback string         `json:"no_traceback,omitempty"`
	Inputs      map[string]any `json:"inputs,omitempty"`
	// Failures are all failures of the run by cause, if no action was named.
	Failures []failureGroup `json:"failures_of_run,omitempty"`
}

type exceptionOutput struct {
	Type    string `json:"type"`
	Message string `json:"message,omitempty"`
	// Stack has the frames of the task's own code, outermost first; all of them if none is its own.
	Stack []string `json:"stack,omitempty"`
}

var explainFailureTool = reads("explain_failure",
	"Explains why a run or one of its actions failed: the error, the traceback in the task's own code, and the inputs.", explainFailure)

func explainFailure(ctx context.Context, s *session, in explainFailureInput) (out explainFailureOutput, err error) {
	name := in.Action
	if name == "" {
		if out.Failures, err = s.failureGroups(ctx, in.runName, 10); err != nil {
			return out, err
		}
		name = firstFailed(out.Failures)
	}
	id := in.action(name)
	answer, err := s.runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
	if err != nil {
		return out, err
	}
	details := answer.GetDetails()
	status := details.GetStatus()
	out.Action, out.Title, out.Parent = id.GetName(), title(details.GetMetadata()), details.GetMetadata().GetParent()
	out.Phase, out.Attempts, out.Error = phaseName(status.GetPhase()), status.GetAttempts(), errorOf(failureOf(details))
	if out.Error == nil {
		return out, rpc.FailedPrecondition("action %s has not failed: it is %s", out.Action, out.Phase)
	}
	found, err := s.failures.ExplainFailure(ctx, &insightv1.ExplainFailureRequest{ActionId: id})
	switch {
	case connect.CodeOf(err) == connect.CodeUnavailable || connect.CodeOf(err) == connect.CodeNotFound:
		out.NoTraceback = "its log is not stored, or not yet"
	case err != nil:
		return out, err
	case len(found.GetExceptions()) == 0:
		out.NoTraceback = "its log has no traceback"
	}
	for _, raised := range found.GetExceptions() {
		out.Exceptions = append(out.Exceptions, exceptionOutput{raised.GetType(), cut(raised.GetMessage(), maxError), stackOf(raised.GetFrames())})
	}
	if data, err := readData(ctx, s, actionName{in.runName, name}); err == nil {
		out.Inputs = data.Inputs // the explanation is worth something without them
	}
	return out, nil
}

// firstFailed is the action of the largest group that is not the run's own task, which often fails because another did.
func firstFailed(groups []failureGroup) string {
	for _, g := range groups {
		if g.FirstAction != rootAction {
			return g.FirstAction
		}
	}
	return rootAction
}

// failureOf is the error of an action, or that of its last attempt while it is retried.
func failureOf(details *workflow.ActionDetails) *workflow.ErrorInfo {
	if info := details.GetErrorInfo(); info != nil {
		return info
	}
	attempts := details.GetAttempts()
	for i := len(attempts) - 1; i >= 0; i-- {
		if info := attempts[i].GetErrorInfo(); info != nil {
			return info
		}
	}
	return nil
}

// stackOf is a stack in the words of Python.
func stackOf(frames []*insightv1.StackFrame) []string {
	var own, all []string
	for _, f := range frames {
		line := strings.TrimSuffix(fmt.Sprintf("%s:%d in %s: %s", f.GetFile(), f.GetLine(), f.GetFunction(), f.GetCode()), ": ")
		all = append(all, line)
		if f.GetOwn() {
			own = append(own, line)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}
