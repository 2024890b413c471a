package watch

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// follow serves a stream after its snapshot: it calls changed each time ready has a token, and heartbeat after a silence. It
// returns nil when the stream is old enough to end, or when changed reports that nothing can follow. Streams that batch
// changes over a window have loops of their own, since a window decides when they look at ready.
func follow(
	ctx context.Context, pace *stream.Pace, ready <-chan struct{}, heartbeat func() error, changed func() (over bool, err error),
) error {
	for {
		pace.Sent()
		why, err := pace.Wait(ctx, ready, nil)
		over := false
		switch {
		case err != nil || why == stream.Expired:
			return err
		case why == stream.Heartbeat:
			err = heartbeat()
		default:
			over, err = changed()
		}
		if err != nil || over {
			return err
		}
	}
}
