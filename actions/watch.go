package actions

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// WatchForUpdates implements ActionsService: the children as they are, a sentinel, then every change, with the sentinel
// repeated as a heartbeat. When the runs service breaks the stream off, it is opened again without the client noticing
// more than a second snapshot.
func (h *actionsHandler) WatchForUpdates(ctx context.Context, r *actions.WatchForUpdatesRequest,
	stream *connect.ServerStream[actions.WatchForUpdatesResponse],
) error {
	return h.svc.watch(ctx, r.GetParentActionId(), stream.Send)
}

// watch sends messages until the client leaves, the stream reaches its maximum age, or the runs service stays
// unavailable. It never ends with canceled: the SDK takes that for its own cancellation and waits forever.
func (s *Service) watch(ctx context.Context, parent *common.ActionIdentifier, send func(*actions.WatchForUpdatesResponse) error) error {
	if parent.GetRun() == nil || parent.GetName() == "" {
		return rpc.InvalidArgument("parent_action_id", "the run and the name are required")
	}
	w := &watch{svc: s, parent: parent, send: send}
	children, retries := w.children(), s.config.Watch.Backoff.New()
	opened := s.clock.Now()
	lastContact := opened
	children.MaxAge = s.config.Watch.MaxLifetime
	for {
		contact, err := children.Once(ctx, w.follow)
		children.MaxAge = s.config.Watch.MaxLifetime - max(0, s.clock.Now().Sub(opened)) // negative if the clock was set back
		switch {
		case ctx.Err() != nil:
			return rpc.Unavailable(nil, "stream interrupted; subscribe again")
		case children.MaxAge <= 0:
			return nil
		case w.sendFailure != nil:
			return rpc.Unavailable(w.sendFailure, "the client is too slow: it does not read the stream")
		case err != nil && !reopens(err):
			return err
		}
		if contact {
			lastContact = s.clock.Now()
			retries.Reset()
		}
		if s.clock.Now().Sub(lastContact) >= s.config.Watch.MaxOutage {
			return rpc.Unavailable(err, "cannot read the state of the children; subscribe again")
		}
		s.logger.Debug().Err(err).Str("run", parent.GetRun().GetName()).Str("parent", parent.GetName()).Msg("closing the watch of children; the client reopens it")
		if retries.Wait(ctx, s.clock) != nil {
			return rpc.Unavailable(nil, "stream interrupted; subscribe again")
		}
	}
}

// reopens reports whether a new call may succeed.
func reopens(err error) bool {
	switch rpc.KindOf(err) {
	case rpc.KindInvalidArgument, rpc.KindNotFound, rpc.KindPermissionDenied, rpc.KindUnauthenticated, rpc.KindUnimplemented:
		return false
	default:
		return true
	}
}
