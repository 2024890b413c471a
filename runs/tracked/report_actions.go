package tracked

import (
	"cmp"
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// reportsPerWrite bounds the reports of one operation of the writer, so that a large batch does not hold up others.
const reportsPerWrite = 500

// ReportWriter stores reports; store.Writer does.
type ReportWriter interface {
	Report(ctx context.Context, run ident.Run, reports []store.Reported) ([]error, error)
}

// Reporter records what clients report. All fields are required.
type Reporter struct {
	// Root is the URI prefix of the object store.
	Root   string
	Access Access
	Writer ReportWriter
	Clock  clock.Clock
	Counts metric.Int64Counter
}

// ReportActions implements workflowconnect.TrackedRunServiceHandler. It applies the updates in order and returns a status
// for each; an update that is refused does not affect the others. The call fails as a whole only if the run does not
// exist or nothing can be stored now: then the client repeats it.
func (r *Reporter) ReportActions(ctx context.Context, request *workflow.ReportTrackedActionsRequest) (*workflow.ReportTrackedActionsResponse, error) {
	run := ident.RunOf(request.GetRunId())
	by, err := caller.Encoded(ctx)
	if err != nil {
		return nil, err
	}
	refused := make([]error, len(request.GetUpdates()))
	reports := make([]store.Reported, 0, len(refused))
	places := make([]int, 0, len(refused)) // of the reports among the updates
	for i, update := range request.GetUpdates() {
		report, err := r.report(run, update)
		if err != nil {
			refused[i] = err
			continue
		}
		report.AbortedBy = by
		reports, places = append(reports, report), append(places, i)
	}
	for part := range slices.Chunk(reports, reportsPerWrite) {
		errs, err := r.Writer.Report(ctx, run, part)
		if err != nil {
			return nil, err
		}
		for _, err := range errs {
			refused[places[0]], places = err, places[1:]
		}
	}
	return r.answer(ctx, refused), nil
}

func (r *Reporter) answer(ctx context.Context, refused []error) *workflow.ReportTrackedActionsResponse {
	response := &workflow.ReportTrackedActionsResponse{Statuses: make([]*status.Status, len(refused))}
	counts := map[string]int64{}
	for i, err := range refused {
		response.Statuses[i] = rpc.StatusOf(err)
		if err == nil {
			counts["accepted"]++
		} else {
			counts["refused"]++
		}
	}
	for outcome, n := range counts {
		r.Counts.Add(ctx, n, metric.WithAttributes(attribute.String("outcome", outcome)))
	}
	return response
}

// report converts an update.
func (r *Reporter) report(run ident.Run, update *workflow.TrackedActionUpdate) (store.Reported, error) {
	event := update.GetEvent()
	id := ident.ActionOf(event.GetId())
	switch {
	case id.Run != run:
		return store.Reported{}, rpc.InvalidArgument("event.id.run", "must be the run of the request, got %s", id.Run)
	case !ident.IsName(id.Name):
		return store.Reported{}, rpc.InvalidArgument("event.id.name", "the name of an action %s; got %q", ident.NameRule, id.Name)
	case event.GetAttempt() == 0 || event.GetAttempt() > maxAttempts:
		return store.Reported{}, rpc.InvalidArgument("event.attempt", "must be from 1 to %d, got %d", maxAttempts, event.GetAttempt())
	case event.GetVersion() > maxVersion:
		return store.Reported{}, rpc.InvalidArgument("event.version", "must be at most %d, got %d", maxVersion, event.GetVersion())
	}
	if event.GetLogContext() != nil {
		return store.Reported{}, rpc.InvalidArgument("event.log_context", "must be empty: the client runs the action, so no pod has its log")
	}
	transition, err := dispatch.Transition(event, nil)
	if err != nil {
		return store.Reported{}, err
	}
	report := store.Reported{Transition: transition}
	if transition.To.Phase == state.Aborted {
		report.AbortReason = cmp.Or(clip.Head(event.GetErrorInfo().GetMessage(), maxReason), "aborted by the client")
	}
	if id.Name == ident.RootAction {
		return report, nil
	}
	if update.GetSpec() == nil {
		return report, nil // not the first report
	}
	report.New, err = r.newAction(id, update)
	return report, err
}

const (
	maxReason   = 4 << 10 // bytes
	maxAttempts = 1 << 20
	maxVersion  = 1 << 30
)

// newAction is the action to record if this is its first report.
func (r *Reporter) newAction(id ident.Action, update *workflow.TrackedActionUpdate) (*store.NewAction, error) {
	parent := cmp.Or(update.GetParentName(), ident.RootAction)
	if !ident.IsName(parent) || parent == id.Name {
		return nil, rpc.InvalidArgument("parent_name", "must be the name of another action, got %q", parent)
	}
	began := cmp.Or(update.GetStatus().GetStartTime(), update.GetEvent().GetUpdatedTime(), update.GetEvent().GetReportedTime())
	action := schema.Action{
		Project: id.Run.Project, Domain: id.Run.Domain, RunName: id.Run.Name, Name: id.Name, ParentName: &parent,
		ActionGroup: update.GetGroup(), Phase: state.Queued, CreatedAt: r.Clock.Now(),
		InputURI: blobpath.TrackedRun(r.Root, id.Run.Project, id.Run.Domain, id.Run.Name) + id.Name,
	}
	if began.IsValid() {
		action.CreatedAt = *protomap.Time(began)
	}
	var spec store.NewSpec
	var err error
	switch given := update.GetSpec().(type) {
	case *workflow.TrackedActionUpdate_Task:
		spec, err = describeTask("task.spec", id.Run, given.Task.GetId(), given.Task.GetSpec(), r.Access, &action)
	case *workflow.TrackedActionUpdate_Trace:
		spec, err = describeTrace(given.Trace, &action)
	}
	if err != nil {
		return nil, err
	}
	action.Notes, err = begun(id, timestamppb.New(action.CreatedAt))
	return &store.NewAction{Action: action, Spec: spec}, err
}
