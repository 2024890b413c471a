package apps

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// Watch implements appconnect.AppServiceHandler: the apps of a scope, then their changes. About one app it sends updates
// alone, as the SDK reads nothing else, and ends when the app is deleted. A message without an event shows that the stream
// is alive.
func (h *handler) Watch(ctx context.Context, r *app.WatchRequest, to *connect.ServerStream[app.WatchResponse]) error {
	s := &follower{
		h: h, version: func(head store.Head) int64 { return head.Version }, maxAge: h.config.MaxAge,
		first: func() error { return nil }, beat: func() error { return to.Send(&app.WatchResponse{}) },
	}
	one := false
	switch target := r.GetTarget().(type) {
	case *app.WatchRequest_AppId:
		s.scope.Key, one = keyOf(target.AppId), true
		s.maxAge *= oneAppAge
		if _, err := h.store.Get(ctx, s.scope.Key); err != nil {
			return err
		}
	case *app.WatchRequest_Project:
		s.scope.Project, s.scope.Domain = target.Project.GetName(), target.Project.GetDomain()
	case *app.WatchRequest_ClusterId:
		s.scope.Cluster = target.ClusterId.GetName()
	}
	s.changed = func(ctx context.Context, rows []*store.App, known map[int64]store.Head) error {
		found, err := h.messages(ctx, rows, maxConditions)
		if err != nil {
			return err
		}
		for i, a := range found {
			_, before := known[rows[i].ID]
			if err := to.Send(changed(a, before || one)); err != nil {
				return err
			}
		}
		return nil
	}
	s.gone = func(head store.Head) error {
		deleted := &app.App{Metadata: &app.Meta{Id: idOf(head.Key), Revision: uint64(head.Revision)}} //nolint:gosec // counts from 1
		if err := to.Send(&app.WatchResponse{Event: &app.WatchResponse_DeleteEvent{DeleteEvent: &app.DeleteEvent{App: deleted}}}); err != nil || !one {
			return err
		}
		return errEnd
	}
	return s.run(ctx)
}

// oneAppAge is how many times longer than others a stream about one app continues.
const oneAppAge = 6

// changed is the event for an app that the client already knows, or does not.
func changed(a *app.App, known bool) *app.WatchResponse {
	if known {
		return &app.WatchResponse{Event: &app.WatchResponse_UpdateEvent{UpdateEvent: &app.UpdateEvent{UpdatedApp: a}}}
	}
	return &app.WatchResponse{Event: &app.WatchResponse_CreateEvent{CreateEvent: &app.CreateEvent{App: a}}}
}
