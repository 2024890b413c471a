package pools

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// WatchWorkers implements enginev1connect.WorkerFleetServiceHandler.
func (h *handler) WatchWorkers(ctx context.Context, r *enginev1.WatchWorkersRequest, to *connect.ServerStream[enginev1.WatchWorkersResponse]) error {
	cluster := cmp.Or(r.GetCluster(), ident.DefaultCluster)
	changes := h.hub.fleets.Subscribe() // before the snapshot, so that no change is missed
	defer changes.Close()
	sentinel := &enginev1.WatchWorkersResponse{Message: &enginev1.WatchWorkersResponse_Sentinel{Sentinel: &enginev1.WorkersSentinel{}}}
	sent := map[string]bool{}
	if err := h.sendWorkers(ctx, cluster, sent, to.Send); err != nil {
		return err
	}
	if err := to.Send(sentinel); err != nil {
		return err
	}
	pace := stream.NewPace(h.deps.Clock, stream.Timing{Heartbeat: h.config.Heartbeat, MaxAge: h.config.MaxAge})
	defer pace.Stop()
	for {
		why, err := pace.Wait(ctx, changes.Ready(), nil)
		if err != nil || why == stream.Expired {
			return err
		}
		if err := h.sendWorkers(ctx, cluster, sent, to.Send); err != nil { // also with each heartbeat: a notification may be lost
			return err
		}
		if why == stream.Heartbeat {
			if err := to.Send(sentinel); err != nil {
				return err
			}
		}
	}
}

// sendWorkers sends the difference between what should run and what was sent.
func (h *handler) sendWorkers(ctx context.Context, cluster string, sent map[string]bool, send func(*enginev1.WatchWorkersResponse) error) error {
	desired, err := h.store.Desired(ctx, cluster)
	if err != nil {
		return err
	}
	wanted := make(map[string]bool, len(desired))
	for _, d := range desired {
		wanted[d.ID] = true
		if sent[d.ID] {
			continue
		}
		like := &enginev1.Assignment{}
		if err := proto.Unmarshal(d.Template, like); err != nil {
			return rpc.DataLoss(err, "the stored template of worker %s cannot be read", d.ID)
		}
		worker := &enginev1.DesiredWorker{Id: d.ID, Concurrency: uint32(d.Concurrency), Like: like} //nolint:gosec // at most 1000
		if err := send(&enginev1.WatchWorkersResponse{Message: &enginev1.WatchWorkersResponse_Worker{Worker: worker}}); err != nil {
			return err
		}
		sent[d.ID] = true
	}
	for id := range sent {
		if wanted[id] {
			continue
		}
		if err := send(&enginev1.WatchWorkersResponse{Message: &enginev1.WatchWorkersResponse_Removed{Removed: &enginev1.RemovedWorker{Id: id}}}); err != nil {
			return err
		}
		delete(sent, id)
	}
	return nil
}

// IssueWorkerToken implements enginev1connect.WorkerFleetServiceHandler. Each call makes a new token and ends the one
// before: the caller may have failed to store that.
func (h *handler) IssueWorkerToken(ctx context.Context, r *enginev1.IssueWorkerTokenRequest) (*enginev1.IssueWorkerTokenResponse, error) {
	token := tokenPrefix + rand.Text()
	found, err := h.store.SetToken(ctx, r.GetId(), authz.ClusterOf(ctx), hashOf(token))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, rpc.NotFound("worker %s does not exist, is draining or has already started", r.GetId())
	}
	return &enginev1.IssueWorkerTokenResponse{Token: token}, nil
}

// ReportWorkers implements enginev1connect.WorkerFleetServiceHandler. It may be repeated. Pauses between workers that
// fail to start grow with their number.
func (h *handler) ReportWorkers(ctx context.Context, r *enginev1.ReportWorkersRequest) (*enginev1.ReportWorkersResponse, error) {
	pause := func(failures int) time.Duration {
		return backoff.After(h.config.SystemBackoff, h.config.MaxSystemBackoff, failures)
	}
	for _, w := range r.GetWorkers() {
		observed := store.Observed{ID: w.GetId(), Ended: w.GetEnded(), Reason: w.GetReason(), OutOfMemory: w.GetOutOfMemory(), Reporter: authz.ClusterOf(ctx)}
		if err := h.store.Report(ctx, observed, pause); err != nil {
			return nil, err
		}
	}
	return &enginev1.ReportWorkersResponse{}, nil
}

// LocateWorker implements enginev1connect.WorkerFleetServiceHandler.
func (h *handler) LocateWorker(ctx context.Context, r *enginev1.LocateWorkerRequest) (*enginev1.LocateWorkerResponse, error) {
	at, err := h.store.Locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return &enginev1.LocateWorkerResponse{Project: at.Project, Domain: at.Domain, Cluster: at.Cluster}, nil
}
