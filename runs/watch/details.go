package watch

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// ActionDetails streams an action's details: the current ones, then again after every change. The stream ends after
// the message with the terminal phase. That message has the result, since the store writes both in one transaction.
func (s *Streams) ActionDetails(ctx context.Context, id ident.Action, send func(*workflow.WatchActionDetailsResponse) error) error {
	at, err := s.read.locate(ctx, id)
	if err != nil {
		return err
	}
	return s.followDetails(ctx, at, detailStream{
		key:  "action/" + id.Name,
		read: func(ctx context.Context) (proto.Message, error) { return s.read.actionDetails(ctx, id) },
		send: func(m proto.Message) error {
			return send(&workflow.WatchActionDetailsResponse{Details: m.(*workflow.ActionDetails)}) //nolint:forcetypeassert // read gave exactly this type
		},
		status: func(m proto.Message) *workflow.ActionStatus { return m.(*workflow.ActionDetails).GetStatus() }, //nolint:forcetypeassert // as above
	})
}

// RunDetails is ActionDetails for a run: its run spec and the details of its root action.
func (s *Streams) RunDetails(ctx context.Context, id ident.Run, send func(*workflow.WatchRunDetailsResponse) error) error {
	at, err := s.read.locateRun(ctx, id)
	if err != nil {
		return err
	}
	return s.followDetails(ctx, at, detailStream{
		key:  "run",
		read: func(ctx context.Context) (proto.Message, error) { return s.read.runDetails(ctx, id) },
		send: func(m proto.Message) error {
			return send(&workflow.WatchRunDetailsResponse{Details: m.(*workflow.RunDetails)}) //nolint:forcetypeassert // read gave exactly this type
		},
		status: func(m proto.Message) *workflow.ActionStatus { return m.(*workflow.RunDetails).GetAction().GetStatus() }, //nolint:forcetypeassert // as above
	})
}

// detailStream is what differs between the two. key names the read that all streams of the same details share.
type detailStream struct {
	key    string
	read   func(context.Context) (proto.Message, error)
	send   func(proto.Message) error
	status func(proto.Message) *workflow.ActionStatus
}

func (s *Streams) followDetails(ctx context.Context, at watches.Located, d detailStream) error {
	sub, err := s.hub.Subscribe(at.RunID, at.LastSeq, OneAction(at.ActionID))
	if err != nil {
		return err
	}
	defer sub.Close()
	pace := s.paceSilent()
	defer pace.Stop()

	var last proto.Message
	share := func() (proto.Message, error) { return sub.Share(ctx, d.key, d.read) }
	for next := share; ; {
		details, err := next()
		if err != nil {
			return err
		}
		if last == nil || !proto.Equal(last, details) {
			if err := d.send(details); err != nil {
				return err
			}
			last = details
		}
		if protomap.Terminal(d.status(details).GetPhase()) {
			return nil
		}
		// The reason why an action waits can change without an event of its run.
		var pause <-chan time.Time
		refresh := clock.Timer(nil)
		if d.status(details).GetPhase() == common.ActionPhase_ACTION_PHASE_QUEUED {
			refresh = s.clock.NewTimer(waitRefresh)
			pause = refresh.C()
		}
		why, err := pace.Wait(ctx, sub.Ready(), pause)
		if refresh != nil {
			refresh.Stop()
		}
		switch why {
		// err is nil when the stream has reached its maximum age.
		case stream.Expired:
			return err
		case stream.PauseOver:
			// Thousands may watch an action that waits: those whose timers fire in the same interval read once.
			now := strconv.FormatInt(s.clock.Now().UnixNano()/int64(waitRefresh/2), 36)
			next = func() (proto.Message, error) { return sub.Share(ctx, d.key+"@"+now, d.read) }
		default:
			next = share
			sub.Take() // the details are read again as a whole
		}
	}
}

// waitRefresh is how often the details of a queued action are read again while its run has no events.
const waitRefresh = 10 * time.Second
