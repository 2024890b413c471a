package runs

import (
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/insight"
	"github.com/flyte-binary/flyte-binary/runs/projects"
	"github.com/flyte-binary/flyte-binary/runs/tracked"
)

// newTracked returns the service of tracked runs; nil without their tables.
func newTracked(config Config, deps Deps, l *loops, leases *pgdb.Leases) (*tracked.Service, error) {
	if deps.Tracked == nil {
		return nil, nil //nolint:nilnil // it is optional
	}
	places := projects.NewPlaces(l.projects, config.Domains)
	return tracked.New(config.Tracked, tracked.Deps{
		Pool: deps.Tracked, Objects: deps.Blobs, Places: places, Access: blobaccess.New(deps.Blobs), Tasks: l.tasks,
		Leases: leases, Clock: deps.Clock, Logger: deps.Logger.With().Str("service", "runs").Logger(), Meter: deps.Meter,
		Records: deps.Records, Replica: l.replica, Writer: config.Writer, Watch: config.Watch,
	})
}

// trackedIndex finds tracked runs by name; nil without them.
func (l *loops) trackedIndex() insight.Index {
	if l.tracked == nil {
		return nil
	}
	return l.tracked.Index
}

func isTracked(source workflow.RunSource) bool {
	return source == workflow.RunSource_RUN_SOURCE_TRACKED
}

func errNotTracked() error { return rpc.Unimplemented("this server does not store tracked runs") }

// heardTracked handles notifications about tracked runs.
func (l *loops) heardTracked(n pgdb.Notification) {
	if l.tracked != nil {
		l.tracked.Heard(n)
	}
}

// GetActionStorage implements enginev1connect.EngineServiceHandler for runs of both kinds.
func (h engineHandler) GetActionStorage(ctx context.Context, r *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error) {
	switch {
	case !isTracked(r.GetRunSource()):
		return h.Handler.GetActionStorage(ctx, r)
	case h.tracked == nil:
		return nil, errNotTracked()
	default:
		return h.tracked.Storage.GetActionStorage(ctx, r)
	}
}

// ListErrors implements insightv1connect.InsightServiceHandler for runs of both kinds.
func (h insightHandler) ListErrors(ctx context.Context, r *insightv1.ListErrorsRequest) (*insightv1.ListErrorsResponse, error) {
	switch {
	case !isTracked(r.GetRunSource()):
		return h.Questions.ListErrors(ctx, r)
	case h.tracked == nil:
		return nil, errNotTracked()
	default:
		return h.tracked.Questions.ListErrors(ctx, r)
	}
}

// ListTransitions implements insightv1connect.InsightServiceHandler for runs of both kinds.
func (h insightHandler) ListTransitions(ctx context.Context, r *insightv1.ListTransitionsRequest) (*insightv1.ListTransitionsResponse, error) {
	switch {
	case !isTracked(r.GetRunSource()):
		return h.Questions.ListTransitions(ctx, r)
	case h.tracked == nil:
		return nil, errNotTracked()
	default:
		return h.tracked.Questions.ListTransitions(ctx, r)
	}
}

// DescribeActions implements insightv1connect.InsightServiceHandler for runs of both kinds.
func (h insightHandler) DescribeActions(ctx context.Context, r *insightv1.DescribeActionsRequest) (*insightv1.DescribeActionsResponse, error) {
	switch {
	case !isTracked(r.GetRunSource()):
		return h.Questions.DescribeActions(ctx, r)
	case h.tracked == nil:
		return nil, errNotTracked()
	default:
		return h.tracked.Questions.DescribeActions(ctx, r)
	}
}

// ListDataFlow implements insightv1connect.InsightServiceHandler for runs of both kinds.
func (h insightHandler) ListDataFlow(ctx context.Context, r *insightv1.ListDataFlowRequest) (*insightv1.ListDataFlowResponse, error) {
	switch {
	case !isTracked(r.GetRunSource()):
		return h.Questions.ListDataFlow(ctx, r)
	case h.tracked == nil:
		return nil, errNotTracked()
	default:
		return h.tracked.Questions.ListDataFlow(ctx, r)
	}
}

// WatchRunActions implements insightv1connect.InsightServiceHandler for runs of both kinds.
func (h insightHandler) WatchRunActions(
	ctx context.Context, r *insightv1.WatchRunActionsRequest, stream *connect.ServerStream[insightv1.WatchRunActionsResponse],
) error {
	switch {
	case !isTracked(r.GetRunSource()):
		return h.Streams.WatchRunActions(ctx, r, stream)
	case h.tracked == nil:
		return errNotTracked()
	default:
		return h.tracked.Questions.WatchRunActions(ctx, r, stream)
	}
}
