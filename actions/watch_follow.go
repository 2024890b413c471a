package actions

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// errSilent is the failure of a stream over which nothing came, not even heartbeats.
var errSilent = errors.New("no heartbeat")

// watch is one stream of a client, over any number of streams of the runs service.
type watch struct {
	svc      *Service
	parent   *common.ActionIdentifier
	send     func(*actions.WatchForUpdatesResponse) error
	lifetime <-chan time.Time

	over        bool  // the lifetime has passed
	sendFailure error // the client's end is broken
}

// follow passes on one stream of the runs service until it ends. It returns whether anything came. A nil error is a
// clean end.
func (w *watch) follow(ctx context.Context) (contact bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	messages, ended := w.receive(ctx)
	defer func() {
		cancel()
		for range messages {
		}
	}()
	silence := w.svc.clock.NewTimer(w.svc.config.Watch.MaxSilence)
	defer silence.Stop()
	for {
		select {
		case message, ok := <-messages:
			if !ok {
				return contact, <-ended
			}
			contact = true
			restart(silence, w.svc.config.Watch.MaxSilence)
			if message.GetMessage() == nil {
				continue // a client would take an empty message for an action
			}
			if err := w.send(message); err != nil {
				w.sendFailure = err
				return contact, err
			}
		case <-silence.C():
			return contact, errSilent
		case <-w.lifetime:
			w.over = true
			return contact, nil
		case <-ctx.Done():
			return contact, ctx.Err()
		}
	}
}

// receive reads a stream of the runs service in the background. messages is closed at its end; then ended has the
// reason.
func (w *watch) receive(ctx context.Context) (messages <-chan *actions.WatchForUpdatesResponse, ended <-chan error) {
	out, result := make(chan *actions.WatchForUpdatesResponse), make(chan error, 1)
	go func() {
		defer close(out)
		stream, err := w.svc.engine.WatchChildren(ctx, &enginev1.WatchChildrenRequest{Parent: w.parent})
		if err != nil {
			result <- err
			return
		}
		result <- forward(ctx, stream, out)
	}()
	return out, result
}

func forward(ctx context.Context, stream *connect.ServerStreamForClient[enginev1.WatchChildrenResponse],
	out chan<- *actions.WatchForUpdatesResponse,
) error {
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() {
		select {
		case out <- stream.Msg().GetMessage():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return stream.Err()
}

func restart(timer clock.Timer, d time.Duration) {
	if !timer.Stop() {
		select {
		case <-timer.C():
		default:
		}
	}
	timer.Reset(d)
}
