package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// signal is why a stream stops waiting.
type signal int

const (
	woken  signal = iota // there are changes to take
	beat                 // nothing was sent for the heartbeat interval
	paused               // the requested pause has passed
	over                 // the stream has reached its maximum age
)

// pace is the timing of one stream.
type pace struct {
	clock   clock.Clock
	closing <-chan struct{}
	silence time.Duration // 0: no heartbeat

	heart clock.Timer // nil without heartbeat
	life  clock.Timer
	last  time.Time // when something was sent
}

// newPace starts the timing of a stream. The caller must stop it.
func newPace(c clock.Clock, closing <-chan struct{}, silence, maxAge time.Duration) *pace {
	p := &pace{clock: c, closing: closing, silence: silence, last: c.Now()}
	p.life = c.NewTimer(maxAge - time.Duration(rand.Int64N(int64(maxAge)/5+1))) //nolint:gosec // spreads load
	if silence > 0 {
		p.heart = c.NewTimer(silence)
	}
	return p
}

func (p *pace) stop() {
	p.life.Stop()
	if p.heart != nil {
		p.heart.Stop()
	}
}

// sent records that a message was sent. It does not reset the timer: when the timer fires, it waits for the rest of
// the interval.
func (p *pace) sent() { p.last = p.clock.Now() }

// wait blocks until there is something to do. ready and pause may be nil. It returns an error when the client has
// left or the server stops.
func (p *pace) wait(ctx context.Context, ready <-chan struct{}, pause <-chan time.Time) (signal, error) {
	var heart <-chan time.Time
	if p.heart != nil {
		heart = p.heart.C()
	}
	for {
		select {
		case <-p.closing:
			return over, errClosing()
		case <-ctx.Done():
			return over, ctx.Err()
		case <-p.life.C():
			return over, nil
		case <-ready:
			return woken, nil
		case <-pause:
			return paused, nil
		case <-heart:
			left := p.silence - p.clock.Now().Sub(p.last)
			if left <= 0 || left > p.silence { // more is left when the clock was set back
				p.heart.Reset(p.silence)
				return beat, nil
			}
			p.heart.Reset(left)
		}
	}
}

// ended maps the end of a stream to the handler's error. The code canceled must never reach a client, which would
// take it for its own cancellation and not subscribe again. If the client itself has left, nothing reads the error,
// and that is not a failure.
func ended(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), rpc.ErrShuttingDown):
		return errClosing()
	case errors.Is(ctx.Err(), context.Canceled):
		return nil
	case rpc.KindOf(err) == rpc.KindCanceled:
		return rpc.Unavailable(err, "the stream was interrupted, subscribe again")
	default:
		return err
	}
}
