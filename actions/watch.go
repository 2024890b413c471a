package actions

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// WatchForUpdates implements ActionsService: the children as they are, a sentinel, then every change, with the sentinel
// repeated as a heartbeat. When the state machine breaks the stream off it is asked anew without the client noticing
// more than a second snapshot.
func (h *actionsHandler) WatchForUpdates(ctx context.Context, r *actions.WatchForUpdatesRequest,
	stream *connect.ServerStream[actions.WatchForUpdatesResponse],
) error {
	return h.svc.watch(ctx, r.GetParentActionId(), stream.Send)
}

// watch sends messages until the client goes, the stream is old, or the state machine stays away. It never ends with
// canceled: the SDK takes that for its own wish and waits for ever.
func (s *Service) watch(ctx context.Context, parent *common.ActionIdentifier, send func(*actions.WatchForUpdatesResponse) error) error {
	if parent.GetRun() == nil || parent.GetName() == "" {
		return rpc.InvalidArgument("parent_action_id", "the run and the name are needed")
	}
	lifetime := s.clock.NewTimer(s.config.Watch.MaxLifetime)
	defer lifetime.Stop()
	w := &watch{svc: s, parent: parent, send: send, lifetime: lifetime.C()}
	lastContact, backoff := s.clock.Now(), s.config.Watch.FirstBackoff
	for {
		contact, err := w.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return rpc.Unavailable(nil, "the stream was cut off; subscribe again")
		case w.over:
			return nil
		case w.sendFailure != nil:
			return rpc.Unavailable(w.sendFailure, "the client does not read")
		case err != nil && !reopens(err):
			return err
		}
		if contact {
			lastContact, backoff = s.clock.Now(), s.config.Watch.FirstBackoff
		}
		if s.clock.Now().Sub(lastContact) >= s.config.Watch.MaxOutage {
			return rpc.Unavailable(err, "the state of the children is not available; subscribe again")
		}
		s.logger.Debug().Err(err).Str("run", parent.GetRun().GetName()).Str("parent", parent.GetName()).Msg("watch of children reopens")
		if !s.pause(ctx, backoff) {
			return rpc.Unavailable(nil, "the stream was cut off; subscribe again")
		}
		backoff = min(2*backoff, s.config.Watch.MaxBackoff)
	}
}

// reopens tells whether asking anew can help.
func reopens(err error) bool {
	switch rpc.KindOf(err) {
	case rpc.KindInvalidArgument, rpc.KindNotFound, rpc.KindPermissionDenied, rpc.KindUnauthenticated, rpc.KindUnimplemented:
		return false
	default:
		return true
	}
}

func (s *Service) pause(ctx context.Context, d time.Duration) bool {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
