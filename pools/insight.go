package pools

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// pageSize is how many entries a page has unless the caller says otherwise.
const pageSize = 50

// ListPools implements insightv1connect.PoolInsightServiceHandler.
func (h *handler) ListPools(ctx context.Context, r *insightv1.ListPoolsRequest) (*insightv1.ListPoolsResponse, error) {
	place := r.GetProjectId()
	found, token, err := h.store.ListPools(ctx, place.GetName(), place.GetDomain(), r.GetEnvironment(), r.GetCluster(), int(cmp.Or(r.GetLimit(), pageSize)), r.GetToken())
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListPoolsResponse{Token: token}
	for i := range found {
		answer.Pools = append(answer.Pools, poolMessage(&found[i], h.deps.Clock.Now()))
	}
	return answer, nil
}

func poolMessage(f *store.PoolFigures, now time.Time) *insightv1.Pool {
	p := &insightv1.Pool{
		Id: f.ID, ProjectId: &common.ProjectIdentifier{Name: f.Key.Project, Domain: f.Key.Domain}, Cluster: f.Key.Cluster,
		Environment: f.Key.Name, Version: f.Key.Version, Run: f.Key.Run,
		MinReplicas: count(f.Policy.Min), MaxReplicas: count(f.Policy.Max), Concurrency: count(f.Policy.Concurrency),
		IdleTtl: durationpb.New(f.Policy.IdleTTL), ScaledownTtl: durationpb.New(f.Policy.ScaledownTTL),
		Workers: &insightv1.WorkerCounts{Starting: count(f.Starting), Live: count(f.Live), Draining: count(f.Draining)},
		Running: count(f.Running), Waiting: count(f.Waiting), Attempts: f.Attempts, WarmHits: f.WarmHits, Starts: f.Starts, Losses: f.Losses,
		SlowStarts: f.SlowStarts, SlowStart: f.SlowStart,
		Problem: f.Trouble.Reason, CreatedAt: timestamppb.New(f.Created), WorkedAt: timestamppb.New(f.LastWorked),
	}
	if f.Trouble.RetryAt.After(now) {
		p.RetryAt = timestamppb.New(f.Trouble.RetryAt)
	}
	return p
}

// ListWorkers implements insightv1connect.PoolInsightServiceHandler.
func (h *handler) ListWorkers(ctx context.Context, r *insightv1.ListWorkersRequest) (*insightv1.ListWorkersResponse, error) {
	place := r.GetProjectId()
	found, token, err := h.store.ListWorkers(ctx, place.GetName(), place.GetDomain(), r.GetPoolId(), int(cmp.Or(r.GetLimit(), pageSize)), r.GetToken())
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListWorkersResponse{Token: token}
	for i := range found {
		answer.Workers = append(answer.Workers, workerMessage(&found[i]))
	}
	return answer, nil
}

func workerMessage(f *store.WorkerFigures) *insightv1.Worker {
	w := &insightv1.Worker{
		Id: f.ID, State: insightv1.WorkerState(f.State), Slots: count(f.Slots), Version: f.Version, Given: f.Given, Reason: f.Reason, Reserve: f.Reserve,
		CreatedAt: timestamppb.New(f.Created), ConnectedAt: stamp(f.Connected), GoneAt: stamp(f.GoneAt), LeaseUntil: stamp(f.LeaseUntil),
	}
	for i := range f.Has {
		a := &f.Has[i]
		w.Attempts = append(w.Attempts, &insightv1.WorkerAttempt{
			ActionId: a.Action.Proto(), Attempt: count(int(a.Attempt)), ClaimedAt: stamp(a.Claimed), StartedAt: stamp(a.BegunAt), Warm: a.Start.Warm, SlowStart: a.Start.Slow,
		})
	}
	return w
}

func stamp(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}

// count is a number of rows or an attempt, which is never negative.
func count(n int) uint32 { return uint32(max(0, n)) } //nolint:gosec // small
