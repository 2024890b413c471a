package dispatch

import (
	"cmp"
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Storage says where the data of an action are, and which attempts are live; worklists.LiveReader does.
type Storage interface {
	Storage(ctx context.Context, id ident.Action) (worklists.Storage, error)
	LiveAttempts(ctx context.Context, ids []int64) ([]worklists.LiveAttempt, error)
}

// Handler serves what executors ask EngineService about assignments. Both fields are required.
type Handler struct {
	Assignments *Assignments
	Storage     Storage
}

// GetLiveAttempts implements enginev1connect.EngineServiceHandler.
func (h *Handler) GetLiveAttempts(ctx context.Context, request *enginev1.GetLiveAttemptsRequest) (*enginev1.GetLiveAttemptsResponse, error) {
	live, err := h.Storage.LiveAttempts(ctx, request.GetUids())
	if err != nil {
		return nil, err
	}
	response := &enginev1.GetLiveAttemptsResponse{}
	for _, one := range live {
		response.Attempts = append(response.Attempts, &enginev1.LiveAttempt{
			Uid: one.ID, Attempt: uint32(one.Attempt), Cluster: one.Cluster, //nolint:gosec // counts from 1
			Id: ident.Action{Run: ident.Run{Project: one.Project, Domain: one.Domain, Name: one.RunName}, Name: one.Name}.Proto(),
		})
	}
	return response, nil
}

// WatchAssignments implements enginev1connect.EngineServiceHandler.
func (h *Handler) WatchAssignments(
	ctx context.Context, r *enginev1.WatchAssignmentsRequest, stream *connect.ServerStream[enginev1.WatchAssignmentsResponse],
) error {
	of := worklists.Selection{Runner: runnerOf(r), Shard: ident.AllShards}
	if !of.Runner.HasObject() && authz.ClusterOf(ctx) != "" {
		return authz.Denied("the controller of a cluster gets the actions of its executor only, not those of %s", r.GetRunner())
	}
	if of.Runner.HasObject() {
		of.Cluster = cmp.Or(r.GetCluster(), ident.DefaultCluster)
	}
	if r.Shard != nil {
		of.Shard = int(r.GetShard())
	}
	return h.Assignments.Watch(ctx, of, stream.Send)
}

// runnerOf is the runner whose actions a request subscribes to.
func runnerOf(r *enginev1.WatchAssignmentsRequest) schema.Runner {
	switch {
	case r.GetRunner() == enginev1.Runner_RUNNER_CONNECTOR:
		return schema.RunnerConnector
	case r.GetRunner() == enginev1.Runner_RUNNER_POOL, r.GetPools(): //nolint:staticcheck // the version before sends pools
		return schema.RunnerPool
	}
	return schema.RunnerExecutor
}

// GetAssignments implements enginev1connect.EngineServiceHandler.
func (h *Handler) GetAssignments(ctx context.Context, request *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	assignments, err := h.Assignments.Get(ctx, request.GetCluster(), request.GetUids(), request.GetEnded())
	if err != nil {
		return nil, err
	}
	return &enginev1.GetAssignmentsResponse{Assignments: assignments}, nil
}

// GetActionStorage implements enginev1connect.EngineServiceHandler.
func (h *Handler) GetActionStorage(ctx context.Context, request *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error) {
	id := ident.ActionOf(request.GetActionId())
	at, err := h.Storage.Storage(ctx, id)
	if err != nil {
		return nil, err
	}
	if own := authz.ClusterOf(ctx); own != "" && at.Cluster != own {
		return nil, worklists.NoAction(id)
	}
	return &enginev1.GetActionStorageResponse{
		InputUri:      at.InputURI,
		RunOutputBase: at.RunOutputBase,
		Attempts:      uint32(at.Attempt), //nolint:gosec // counts from 1
		Finished:      state.Terminal(at.Phase),
		Phase:         common.ActionPhase(at.Phase),
		Cluster:       at.Cluster,
	}, nil
}
