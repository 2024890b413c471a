package links

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// Connect implements clustersv1connect.ClusterLinkServiceHandler. A controller without a credential of its own, which has the internal
// token or is in this process, registers its cluster by connecting.
func (l *Links) Connect(ctx context.Context, r *clustersv1.ConnectRequest, to *connect.ServerStream[clustersv1.ConnectResponse]) error {
	if !ident.IsCluster(r.GetCluster()) {
		return rpc.InvalidArgument("cluster", "%s, got %q", ident.ClusterRule, r.GetCluster())
	}
	if err := l.checkVersion(r); err != nil {
		l.refused(ctx, r, err)
		return err
	}
	if err := l.deps.checkPodPolicy(r.GetPodPolicy()); err != nil {
		return err
	}
	one := link{Links: l, id: newID(), cluster: r.GetCluster(), send: to.Send}
	hub := &stream.Hub[orders]{}
	changes := hub.Subscribe() // before the row is there, so that no order is missed
	defer changes.Close()
	l.hold(one.id, hub)
	defer l.hold(one.id, nil)
	err := l.deps.Store.Connect(ctx, store.Hello{
		Cluster: r.GetCluster(), Instance: r.GetInstance(), Link: one.id, Replica: l.replica, Version: r.GetVersion(), Policy: r.GetPolicy(), PodPolicy: r.GetPodPolicy(),
		Plugins: r.GetPlugins(), TaskTypes: r.GetTaskTypes(), Labels: r.GetLabels(), Nodes: *nodesOf(r.GetNodes()),
	}, authz.ClusterOf(ctx) == "")
	switch {
	case errors.Is(err, store.ErrNone):
		return rpc.NotFound("cluster %s does not exist", r.GetCluster())
	case err != nil:
		return err
	}
	l.deps.States.Forget()
	l.deps.Meters.connected(ctx, r.GetCluster())
	l.deps.Logger.Info().Str("cluster", r.GetCluster()).Str("instance", r.GetInstance()).Str("version", r.GetVersion()).Msg("a controller has connected")
	return one.serve(ctx, changes)
}

// refused records that a controller was refused because of its version, and logs it once a minute while it tries again.
func (l *Links) refused(ctx context.Context, r *clustersv1.ConnectRequest, why error) {
	l.deps.Meters.refused(ctx, "version")
	news, err := l.deps.Store.Refuse(ctx, r.GetCluster(), r.GetVersion())
	if err != nil {
		l.deps.Logger.Warn().Err(err).Msg("a refusal could not be recorded")
	}
	if news {
		l.deps.States.Forget()
		l.deps.Logger.Warn().Str("cluster", r.GetCluster()).Str("instance", r.GetInstance()).Err(why).Msg("a controller was refused")
	}
}

// hold notes a link of this replica; nil ends it.
func (l *Links) hold(id string, hub *stream.Hub[orders]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hub == nil {
		delete(l.held, id)
		return
	}
	l.held[id] = hub
}

// link is a link that this replica holds.
type link struct {
	*Links
	id, cluster string
	send        func(*clustersv1.ConnectResponse) error
	wanted      clustersv1.ClusterState // that was sent
}

// serve sends until the link ends.
func (l *link) serve(ctx context.Context, changes *stream.Subscription[orders]) error {
	wanted, err := l.wantedOf(ctx, l.cluster)
	if err != nil {
		return err
	}
	l.wanted = wanted
	if err := l.send(&clustersv1.ConnectResponse{Message: &clustersv1.ConnectResponse_Welcome{
		Welcome: &clustersv1.Welcome{Link: l.id, Version: l.deps.Version, State: wanted},
	}}); err != nil {
		return err
	}
	pace := stream.NewPace(l.deps.Clock, stream.Timing{Heartbeat: heartbeat, MaxAge: maxAge})
	defer pace.Stop()
	for {
		why, err := pace.Wait(ctx, changes.Ready(), nil)
		if err != nil || why == stream.Expired {
			return err
		}
		if why == stream.Heartbeat {
			err = l.send(&clustersv1.ConnectResponse{Message: &clustersv1.ConnectResponse_Heartbeat{Heartbeat: &clustersv1.LinkHeartbeat{}}})
		} else {
			err = l.order(ctx, changes.Take())
		}
		if err != nil {
			return err
		}
	}
}

// order sends orders.
func (l *link) order(ctx context.Context, due orders) error {
	for _, tail := range due.tails {
		if err := l.send(&clustersv1.ConnectResponse{Message: &clustersv1.ConnectResponse_Tail{Tail: tail}}); err != nil {
			return err
		}
	}
	if !due.look {
		return nil
	}
	wanted, err := l.wantedOf(ctx, l.cluster)
	if err != nil || wanted == l.wanted {
		return err
	}
	l.wanted = wanted
	return l.send(&clustersv1.ConnectResponse{Message: &clustersv1.ConnectResponse_State{State: &clustersv1.StateOrder{State: wanted}}})
}

// Beat implements clustersv1connect.ClusterLinkServiceHandler.
func (l *Links) Beat(ctx context.Context, r *clustersv1.BeatRequest) (*clustersv1.BeatResponse, error) {
	var nodes *store.Nodes
	if r.GetNodes() != nil {
		nodes = nodesOf(r.GetNodes())
	}
	err := l.deps.Store.Beat(ctx, r.GetCluster(), r.GetInstance(), r.GetLink(), nodes)
	if errors.Is(err, store.ErrNone) {
		return nil, &rpc.Error{
			Kind: rpc.KindFailedPrecondition, Message: fmt.Sprintf("cluster %s has no such link; connect again", r.GetCluster()),
			Detail: &clustersv1.Welcome{Version: l.deps.Version}, // for flyte-binary doctor
		}
	}
	return &clustersv1.BeatResponse{}, err
}

// nodesOf is what a message says about nodes. Resources are nil if it knows nothing.
func nodesOf(n *clustersv1.NodeSummary) *store.Nodes {
	if !n.GetKnown() {
		return &store.Nodes{}
	}
	return &store.Nodes{Accelerators: n.GetAccelerators(), Capacity: amounts(n.GetCapacity()), Free: amounts(n.GetFree()), Largest: amounts(n.GetLargest())}
}

// amounts is never nil.
func amounts(of map[string]int64) states.Resources {
	if of == nil {
		return states.Resources{}
	}
	return of
}
