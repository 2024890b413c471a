package launch

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	conditions "github.com/flyte-binary/flyte-binary/internal/names/condition"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// ActionWriter stores children; store.Writer does.
type ActionWriter interface {
	RecordAction(ctx context.Context, action store.NewAction) error
}

// Recorder records the children of actions. All fields are required.
type Recorder struct {
	Contexts *Contexts
	Storage  Storage
	Objects  Objects
	Access   Access
	Writer   ActionWriter
	Planner  *Planner

	code codeAccess
}

// RecordAction implements workflowconnect.InternalRunServiceHandler. The outcome is in the response body.
func (r *Recorder) RecordAction(ctx context.Context, request *workflow.RecordActionRequest) (*workflow.RecordActionResponse, error) {
	err := r.record(ctx, request)
	return &workflow.RecordActionResponse{ActionId: request.GetActionId(), Status: rpc.StatusOf(err)}, nil
}

// checkNames checks how a child is named. Errors name the fields as clients know them, from the requests that enqueue
// actions.
func checkNames(request *workflow.RecordActionRequest) error {
	name, parent := request.GetActionId().GetName(), request.GetParent()
	switch {
	case request.GetActionId().GetRun() == nil:
		return rpc.InvalidArgument("action_id.run", "is required")
	case !ident.IsName(name):
		return rpc.InvalidArgument("action_id.name", "the name of an action %s; got %q", ident.NameRule, name)
	case name == ident.RootAction:
		return rpc.InvalidArgument("action_id.name", "%s is the name of the root action", ident.RootAction)
	case parent == "":
		return rpc.InvalidArgument("parent_action_name", "is required: an action is enqueued by its parent; create runs with CreateRun")
	case parent == name:
		return rpc.InvalidArgument("parent_action_name", "an action cannot be its own parent")
	}
	return nil
}

func (r *Recorder) record(ctx context.Context, request *workflow.RecordActionRequest) error {
	if err := checkNames(request); err != nil {
		return err
	}
	id := ident.ActionOf(request.GetActionId())
	parent := request.GetParent()
	action := store.NewAction{Action: schema.Action{
		Project: id.Run.Project, Domain: id.Run.Domain, RunName: id.Run.Name, Name: id.Name, ParentName: &parent,
		ActionGroup: request.GetGroup(), InputURI: request.GetInputUri(),
	}}
	if recovered := request.GetRecoveredFrom(); recovered != nil {
		body, err := proto.Marshal(recovered)
		if err != nil {
			return rpc.InvalidArgument("recovered_from", "cannot be encoded")
		}
		action.Action.RecoveredFrom = body
	}
	if err := r.checkData(ctx, id, request); err != nil {
		return err
	}
	if err := r.describeChild(ctx, id, request, &action); err != nil {
		return err
	}
	return r.Writer.RecordAction(ctx, action)
}

// checkData refuses data that the run may not read: its own, and those of its project and domain.
func (r *Recorder) checkData(ctx context.Context, id ident.Action, request *workflow.RecordActionRequest) error {
	outputs := request.GetTrace().GetOutputs()
	for _, named := range []struct{ field, uri string }{
		{"input_uri", handedFile(request.GetInputUri())},
		{"trace.outputs.output_uri", outputs.GetOutputUri()},
		{"trace.outputs.report_uri", outputs.GetReportUri()},
	} {
		if named.uri == "" {
			continue
		}
		run, err := r.Contexts.get(ctx, id.Run)
		if err != nil {
			return err
		}
		if err := r.Access.Data(named.field, named.uri, placeOf(id.Run), blobaccess.Siblings(run.OutputBase)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recorder) describeChild(ctx context.Context, id ident.Action, request *workflow.RecordActionRequest, action *store.NewAction) error {
	switch spec := request.GetSpec().(type) {
	case *workflow.RecordActionRequest_Task:
		planned, err := r.Planner.task(ctx, "task.spec", id.Run, spec.Task.GetId(), spec.Task.GetSpec())
		if err != nil {
			return err
		}
		parent := ident.Action{Run: id.Run, Name: request.GetParent()}
		if err := r.code.check(ctx, "task.spec.task_template", id.Run, planned, parent, id.Run.Root()); err != nil {
			return err
		}
		planned.describe(&action.Action)
		action.Action.CacheKey = spec.Task.GetCacheKey().GetValue()
		action.Action.Queue = spec.Task.GetQueue()
		action.Spec = store.NewSpec{Kind: schema.SpecTask, Digest: planned.digest, Body: planned.body}
		action.ReadInputs = planned.readInputs(action.Action.InputURI)
		run, err := r.Contexts.get(ctx, id.Run)
		if err != nil {
			return err
		}
		if err := reviewSize("task.spec", planned, run); err != nil {
			return err
		}
		if err := r.Planner.plan(ctx, &action.Action, planned, run); err != nil {
			return err
		}
		action.Traces, err = r.Planner.Recoveries.traces(ctx, run, &action.Action)
		return err
	case *workflow.RecordActionRequest_Trace:
		return r.describeTrace(ctx, id, spec.Trace, action)
	case *workflow.RecordActionRequest_Condition:
		if err := describeCondition(spec.Condition, action); err != nil {
			return err
		}
		return r.recoverCondition(ctx, id, spec.Condition, &action.Action)
	default:
		return rpc.InvalidArgument("spec", "a task, a trace or a condition is required")
	}
}

func describeCondition(condition *workflow.ConditionAction, action *store.NewAction) (err error) {
	if !conditions.TypeAllowed(condition.GetType()) {
		return rpc.InvalidArgument("condition.type", "%s", conditions.TypeRule)
	}
	a := &action.Action
	a.ActionType = int16(workflow.ActionType_ACTION_TYPE_CONDITION)
	a.TaskName, a.FunctionName, a.ShortName = condition.GetName(), condition.GetName(), condition.GetName()
	if err := checkWebhook(condition.GetWebhook()); err != nil {
		return err
	}
	if condition.GetTimeout() != nil {
		if a.Limits.Deadline = condition.GetTimeout().AsDuration(); a.Limits.Deadline <= 0 {
			return rpc.InvalidArgument("condition.timeout", "must be positive; omit it for no limit")
		}
	}
	action.Webhook = condition.GetWebhook() != nil
	action.Spec, err = encodeSpec(schema.SpecCondition, "condition", condition)
	a.SpecDigest = action.Spec.Digest
	return err
}

// describeTrace takes a trace as it ended. Its error, which the request has no field for, is in the object store.
func (r *Recorder) describeTrace(ctx context.Context, id ident.Action, trace *workflow.TraceAction, action *store.NewAction) (err error) {
	a := &action.Action
	a.RecoveredFrom = nil // only the runs service recovers traces
	a.ActionType = int16(workflow.ActionType_ACTION_TYPE_TRACE)
	a.TaskName, a.FunctionName, a.ShortName = trace.GetName(), trace.GetName(), trace.GetName()
	a.StartedAt, a.EndedAt = protomap.Time(trace.GetStartTime()), protomap.Time(trace.GetEndTime())
	a.OutputURI, a.ReportURI = trace.GetOutputs().GetOutputUri(), trace.GetOutputs().GetReportUri()
	switch phase := state.Phase(trace.GetPhase()); phase { //nolint:gosec // an enum of few values
	case state.Failed, state.TimedOut, state.Aborted:
		a.Phase = phase
	case 0, state.Succeeded, state.Recovered:
		a.Phase = state.Succeeded
	default:
		return rpc.InvalidArgument("trace.phase", "must be terminal: a trace is recorded after it has ended")
	}
	if a.Phase == state.Failed {
		if a.Error, err = r.traceError(ctx, id); err != nil {
			return err
		}
	}
	action.Spec, err = encodeSpec(schema.SpecTrace, "trace.spec", trace.GetSpec())
	a.SpecDigest = action.Spec.Digest
	return err
}

// maxErrorFile is the largest error file that is read, in bytes.
const maxErrorFile = 1 << 20

// traceError reads the error of a failed trace from the object store; nil when there is none.
func (r *Recorder) traceError(ctx context.Context, id ident.Action) ([]byte, error) {
	root, err := r.Storage.Storage(ctx, id.Run.Root())
	if err != nil {
		return nil, err
	}
	body, err := r.Objects.ReadAll(ctx, blobpath.TraceError(root.RunOutputBase, id.Name), maxErrorFile)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, nil
	case err != nil:
		return nil, rpc.Unavailable(err, "the error of trace %s could not be read", id)
	}
	var document core.ErrorDocument
	if err := proto.Unmarshal(body, &document); err != nil || document.GetError() == nil {
		return nil, nil //nolint:nilerr // a damaged file explains nothing; the client runs the function again
	}
	failure := document.GetError()
	encoded, err := proto.Marshal(&core.ExecutionError{
		Code: failure.GetCode(), Message: failure.GetMessage(), Kind: failure.GetOrigin(), Recoverability: failure.GetKind(),
	})
	if err != nil {
		return nil, rpc.Internal(err, "the error of trace %s cannot be encoded", id)
	}
	return encoded, nil
}

// RecordActionStream implements workflowconnect.InternalRunServiceHandler: RecordAction many times, answered in order.
func (r *Recorder) RecordActionStream(
	ctx context.Context, stream *connect.BidiStream[workflow.RecordActionStreamRequest, workflow.RecordActionStreamResponse],
) error {
	return rpc.AnswerEach(stream, func(request *workflow.RecordActionStreamRequest) (*workflow.RecordActionStreamResponse, error) {
		response, err := r.RecordAction(ctx, request.GetRequest())
		return &workflow.RecordActionStreamResponse{Response: response}, err
	})
}

func encodeSpec(kind schema.SpecKind, field string, message proto.Message) (store.NewSpec, error) {
	digest, body, err := schema.EncodeSpec(kind, message)
	if err != nil {
		return store.NewSpec{}, rpc.InvalidArgument(field, "cannot be encoded: %s", err.Error())
	}
	return store.NewSpec{Kind: kind, Digest: digest, Body: body}, nil
}
