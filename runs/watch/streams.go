package watch

import (
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// Reader has the reads of streams besides the log. watches.Reader implements it.
type Reader interface {
	Locate(ctx context.Context, id ident.Action) (watches.Located, error)
	LocateRun(ctx context.Context, id ident.Run) (watches.Located, error)
	Children(ctx context.Context, runID int64, parent string, since, afterID int64, limit int) ([]*schema.Action, error)
	RunActions(ctx context.Context, runID, since int64, after watches.ActionKey, limit int) ([]*lists.Listed, error)
	ActionsByID(ctx context.Context, ids []int64) ([]*lists.Listed, error)
	AttemptEvents(ctx context.Context, actionID int64, attempt int32, after int64, limit int) ([]watches.ReportedEvent, error)
	NewestRoots(ctx context.Context, target watches.RunTarget, limit int) ([]*lists.Listed, error)
	UpdatedRoots(ctx context.Context, scope schema.Scope, after watches.UpdatedKey, limit int) ([]*lists.Listed, error)
	Scopes(ctx context.Context) ([]schema.Scope, error)
	TaskGroups(ctx context.Context, scope watches.GroupScope, limit int) ([]*watches.TaskGroup, error)
	BriefReader
}

// BriefReader has the reads for columnar run snapshots.
type BriefReader interface {
	PhaseCounts(ctx context.Context, runID int64) ([]watches.PhaseCount, error)
	Briefs(ctx context.Context, runID, since int64, after watches.ActionKey, limit int) ([]schema.Brief, error)
	BriefChanges(ctx context.Context, runID, after int64, limit int) (briefs []schema.Brief, upTo int64, more bool, err error)
	BriefsByID(ctx context.Context, ids []int64) ([]schema.Brief, error)
	BriefsByName(ctx context.Context, runID int64, names []string) ([]schema.Brief, error)
}

// Details builds the messages of details, as the unary calls return them.
type Details interface {
	ActionDetails(ctx context.Context, id ident.Action) (*workflow.ActionDetails, error)
	RunDetails(ctx context.Context, run ident.Run) (*workflow.RunDetails, error)
}

// Deps are the dependencies of Streams.
type Deps struct {
	Hub     *Hub
	Reader  Reader
	Details Details
	Clock   clock.Clock
}

// Streams has the handlers of the watch rpcs of RunService, EngineService and InsightService; the services embed it.
type Streams struct {
	cfg   Config
	hub   *Hub
	read  *reads
	clock clock.Clock
}

// NewStreams returns the handlers.
func NewStreams(cfg Config, deps Deps) *Streams {
	return &Streams{cfg: cfg, hub: deps.Hub, read: newReads(deps.Reader, deps.Details, cfg.Reads), clock: deps.Clock}
}

// pace starts the timing of a stream with a heartbeat.
func (s *Streams) pace() *stream.Pace {
	return stream.NewPace(s.clock, stream.Timing{Heartbeat: s.cfg.Heartbeat, MaxAge: s.cfg.MaxAge, Closing: s.hub.closing})
}

// paceSilent is for streams whose message type has no heartbeat form.
func (s *Streams) paceSilent() *stream.Pace {
	return stream.NewPace(s.clock, stream.Timing{MaxAge: s.cfg.MaxAge, Closing: s.hub.closing})
}

// WatchChildren implements EngineService.
func (s *Streams) WatchChildren(ctx context.Context, req *enginev1.WatchChildrenRequest, to *connect.ServerStream[enginev1.WatchChildrenResponse]) error {
	return s.Children(ctx, ident.ActionOf(req.GetParent()), to.Send)
}

// WatchActionDetails implements RunService.
func (s *Streams) WatchActionDetails(ctx context.Context, req *workflow.WatchActionDetailsRequest, to *connect.ServerStream[workflow.WatchActionDetailsResponse]) error {
	return s.ActionDetails(ctx, ident.ActionOf(req.GetActionId()), to.Send)
}

// WatchRunDetails implements RunService.
func (s *Streams) WatchRunDetails(ctx context.Context, req *workflow.WatchRunDetailsRequest, to *connect.ServerStream[workflow.WatchRunDetailsResponse]) error {
	return s.RunDetails(ctx, ident.RunOf(req.GetRunId()), to.Send)
}

// WatchRuns implements RunService.
func (s *Streams) WatchRuns(ctx context.Context, req *workflow.WatchRunsRequest, to *connect.ServerStream[workflow.WatchRunsResponse]) error {
	return s.Runs(ctx, targetOf(req), to.Send)
}

// WatchActions implements RunService.
func (s *Streams) WatchActions(ctx context.Context, req *workflow.WatchActionsRequest, to *connect.ServerStream[workflow.WatchActionsResponse]) error {
	filter, err := parseTreeFilter(req.GetFilter())
	if err != nil {
		return err
	}
	return s.Actions(ctx, ident.RunOf(req.GetRunId()), filter, to.Send)
}

// WatchRunActions implements InsightService.
func (s *Streams) WatchRunActions(ctx context.Context, req *insightv1.WatchRunActionsRequest, to *connect.ServerStream[insightv1.WatchRunActionsResponse]) error {
	picture := Picture{Run: ident.RunOf(req.GetRunId()), Cursor: req.GetCursor(), Strings: req.GetStrings()}
	return s.RunActions(ctx, picture, to.Send)
}

// WatchClusterEvents implements RunService.
func (s *Streams) WatchClusterEvents(ctx context.Context, req *workflow.WatchClusterEventsRequest, to *connect.ServerStream[workflow.WatchClusterEventsResponse]) error {
	return s.ClusterEvents(ctx, ident.ActionOf(req.GetId()), req.GetAttempt(), to.Send)
}

// WatchGroups implements RunService.
func (s *Streams) WatchGroups(ctx context.Context, req *workflow.WatchGroupsRequest, to *connect.ServerStream[workflow.WatchGroupsResponse]) error {
	query, err := parseGroups(req, s.cfg.Groups)
	if err != nil {
		return err
	}
	return s.Groups(ctx, query, to.Send)
}
