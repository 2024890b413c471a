package runs

import (
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

// newWatches puts the watches together: the hub, which Start brings up, and the streams that the handlers serve.
func newWatches(s *Service) (*watch.Hub, *watch.Streams) {
	reader := store.NewWatchReader(s.pool)
	hub := watch.NewHub(s.config.Watch, watch.HubDeps{
		Log:     reader,
		Clock:   s.clock,
		Logger:  s.logger,
		Replica: s.replica,
		Listen: func(ctx context.Context, heard func(pgdb.Notification)) error {
			return pgdb.Listen(ctx, s.pool, store.ChannelRuns, s.clock, heard)
		},
	})
	return hub, watch.NewStreams(s.config.Watch, watch.Deps{
		Hub: hub, Reader: reader, Details: detailsOf{s}, Clock: s.clock,
	})
}

// detailsOf lets the watches answer with what the unary calls answer.
type detailsOf struct{ svc *Service }

// ActionDetails implements watch.Details.
func (d detailsOf) ActionDetails(ctx context.Context, id ident.Action) (*workflow.ActionDetails, error) {
	return d.svc.actionDetails(ctx, id)
}

// RunDetails implements watch.Details.
func (d detailsOf) RunDetails(ctx context.Context, run ident.Run) (*workflow.RunDetails, error) {
	return d.svc.runDetails(ctx, run)
}

// WatchRunDetails implements workflowconnect.RunServiceHandler.
func (h *runHandler) WatchRunDetails(ctx context.Context, req *workflow.WatchRunDetailsRequest, stream *connect.ServerStream[workflow.WatchRunDetailsResponse]) error {
	return h.svc.streams.WatchRunDetails(ctx, req, stream)
}

// WatchActionDetails implements workflowconnect.RunServiceHandler.
func (h *runHandler) WatchActionDetails(ctx context.Context, req *workflow.WatchActionDetailsRequest, stream *connect.ServerStream[workflow.WatchActionDetailsResponse]) error {
	return h.svc.streams.WatchActionDetails(ctx, req, stream)
}

// WatchRuns implements workflowconnect.RunServiceHandler.
func (h *runHandler) WatchRuns(ctx context.Context, req *workflow.WatchRunsRequest, stream *connect.ServerStream[workflow.WatchRunsResponse]) error {
	return h.svc.streams.WatchRuns(ctx, req, stream)
}

// WatchActions implements workflowconnect.RunServiceHandler.
func (h *runHandler) WatchActions(ctx context.Context, req *workflow.WatchActionsRequest, stream *connect.ServerStream[workflow.WatchActionsResponse]) error {
	return h.svc.streams.WatchActions(ctx, req, stream)
}

// WatchClusterEvents implements workflowconnect.RunServiceHandler.
func (h *runHandler) WatchClusterEvents(ctx context.Context, req *workflow.WatchClusterEventsRequest, stream *connect.ServerStream[workflow.WatchClusterEventsResponse]) error {
	return h.svc.streams.WatchClusterEvents(ctx, req, stream)
}

// WatchGroups implements workflowconnect.RunServiceHandler.
func (h *runHandler) WatchGroups(ctx context.Context, req *workflow.WatchGroupsRequest, stream *connect.ServerStream[workflow.WatchGroupsResponse]) error {
	return h.svc.streams.WatchGroups(ctx, req, stream)
}

// WatchChildren implements enginev1connect.EngineServiceHandler.
func (h *engineHandler) WatchChildren(ctx context.Context, req *enginev1.WatchChildrenRequest, stream *connect.ServerStream[enginev1.WatchChildrenResponse]) error {
	return h.svc.streams.WatchChildren(ctx, req, stream)
}
