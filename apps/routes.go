package apps

import (
	"cmp"
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// WatchRoutes implements enginev1connect.AppRouteServiceHandler. A change of an app that does not change its route is not
// sent.
func (h *handler) WatchRoutes(ctx context.Context, _ *enginev1.WatchRoutesRequest, to *connect.ServerStream[enginev1.WatchRoutesResponse]) error {
	sentinel := func() error {
		return to.Send(&enginev1.WatchRoutesResponse{Message: &enginev1.WatchRoutesResponse_Sentinel{Sentinel: &enginev1.AppsSentinel{}}})
	}
	sent := map[string]*enginev1.AppRoute{}
	s := &follower{
		h: h, version: func(head store.Head) int64 { return head.Version }, maxAge: h.config.MaxAge, first: sentinel, beat: sentinel,
		gone: func(head store.Head) error {
			delete(sent, head.UID)
			return to.Send(&enginev1.WatchRoutesResponse{Message: &enginev1.WatchRoutesResponse_Removed{Removed: &enginev1.RemovedApp{Uid: head.UID}}})
		},
		changed: func(ctx context.Context, rows []*store.App, _ map[int64]store.Head) error {
			routes, err := h.routes(ctx, rows)
			if err != nil {
				return err
			}
			for _, route := range routes {
				version := route.GetVersion()
				// The version grows with every change of the app, also with those that leave the route as it is. It is
				// left out of the comparison.
				route.Version = 0
				if proto.Equal(sent[route.GetUid()], route) {
					continue
				}
				sent[route.GetUid()] = proto.CloneOf(route)
				route.Version = version
				if err := to.Send(&enginev1.WatchRoutesResponse{Message: &enginev1.WatchRoutesResponse_Route{Route: route}}); err != nil {
					return err
				}
			}
			return nil
		},
	}
	return s.run(ctx)
}

// routes are how requests reach some apps. What belongs to the way, such as the time limit, is that of the revision that
// serves.
func (h *handler) routes(ctx context.Context, rows []*store.App) ([]*enginev1.AppRoute, error) {
	states := make([]rollout.State, len(rows))
	var ids, revisions []int64
	for i, a := range rows {
		var err error
		if states[i], err = decodeState(a); err != nil {
			return nil, err
		}
		if serving := int64(states[i].Route); serving != 0 && serving != a.Revision { //nolint:gosec // counts from 1
			ids, revisions = append(ids, a.ID), append(revisions, serving)
		}
	}
	specs, err := h.store.Named(ctx, ids, revisions)
	if err != nil {
		return nil, err
	}
	routes := make([]*enginev1.AppRoute, len(rows))
	for i, a := range rows {
		body := a.Spec
		if older := specs[[2]int64{a.ID, int64(states[i].Route)}]; older != nil { //nolint:gosec // counts from 1
			body = older
		}
		if routes[i], err = route(a, states[i], body); err != nil {
			return nil, err
		}
	}
	return routes, nil
}

// route is how requests reach one app, from the spec of the revision that serves. Replicas that drain get no new
// requests; those that are not ready are listed, so that a gateway can tell a start from an outage.
func route(a *store.App, state rollout.State, body []byte) (*enginev1.AppRoute, error) {
	spec, err := decodeSpec(body)
	if err != nil {
		return nil, err
	}
	observed, err := decodeObserved(a)
	if err != nil {
		return nil, err
	}
	_, portName := portOf(spec)
	out := &enginev1.AppRoute{
		Uid: a.UID, Id: idOf(a.Key), Subdomain: a.Subdomain, Private: spec.GetIngress().GetPrivate(),
		AllowAnonymous: spec.GetSecurityContext().GetAllowAnonymous(), H2C: portName == cleartext, Revision: state.Route,
		RequestTimeout: spec.GetTimeouts().GetRequestTimeout(), Version: a.Version, Connector: spec.GetProfile().GetType() == connectorType,
	}
	if a.CName != nil {
		out.Host = *a.CName
	}
	for _, r := range observed.GetRevisions() {
		if r.GetRevision() != state.Route {
			continue
		}
		for _, replica := range r.GetReplicas() {
			if replica.GetAddress() != "" && !replica.GetDraining() {
				out.Targets = append(out.Targets, &enginev1.RouteTarget{Replica: replica.GetName(), Address: replica.GetAddress(), Ready: replica.GetReady(), Cluster: cmp.Or(replica.GetCluster(), a.Cluster)})
			}
		}
	}
	out.Wakes, out.Reason = waits(a, state)
	return out, nil
}

// waits says whether a request may wait for an app that has no replica, or else why not.
func waits(a *store.App, state rollout.State) (wakes bool, reason string) {
	switch {
	case a.Foreign:
		return false, fmt.Sprintf("app %s is run by an operator of its own, and not reached here", a.Name)
	case state.Stopped:
		return false, fmt.Sprintf("app %s is stopped", a.Name)
	case state.Serving.Number == 0 && state.Failure != nil:
		return false, fmt.Sprintf("app %s could not be started: %s", a.Name, state.Failure.Message)
	default:
		return true, ""
	}
}

// connectorType is the type of apps that run tasks in other systems, as the SDK's ConnectorEnvironment declares it.
const connectorType = "connector"

// WakeApp implements enginev1connect.AppRouteServiceHandler. For an app that does not sleep it only notes that there are
// requests.
func (h *handler) WakeApp(ctx context.Context, r *enginev1.WakeAppRequest) (*enginev1.WakeAppResponse, error) {
	known, err := h.facts(ctx)
	if err != nil {
		return nil, err
	}
	known.wake = true
	err = h.store.Change(ctx, store.ByUIDs(r.GetUid()), func(rows []*store.App) ([]store.Change, error) {
		if len(rows) == 0 {
			return nil, store.NotFound(store.Key{Name: r.GetUid()})
		}
		change, changed, err := h.decide(rows[0], known)
		if err != nil || !changed {
			return nil, err
		}
		return []store.Change{change}, nil
	})
	return &enginev1.WakeAppResponse{}, err
}
