package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// signal is why a stream stops waiting.
type signal int

const (
	woken  signal = iota // there is something to take
	beat                 // nothing was sent for the heartbeat's time
	paused               // the pause asked for is over
	over                 // the stream has reached its age
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

// newPace starts the timing of a stream. The caller stops it.
func newPace(c clock.Clock, closing <-chan struct{}, silence, maxAge time.Duration) *pace {
	p := &pace{clock: c, closing: closing, silence: silence, last: c.Now()}
	p.life = c.NewTimer(maxAge - time.Duration(rand.Int64N(int64(maxAge)/5+1)))
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

// sent notes that the stream is not silent. The timer is left alone: on its tick the rest of the silence is waited for.
func (p *pace) sent() { p.last = p.clock.Now() }

// wait blocks until there is something to do. ready and pause may be nil. It fails when the client left or the server
// stops.
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
			if left <= 0 {
				p.heart.Reset(p.silence)
				return beat, nil
			}
			p.heart.Reset(left)
		}
	}
}

// ended is how a handler reports the end of its stream. The code canceled must never reach a client, which would take
// it for its own wish and not subscribe again. When the client has gone nobody reads the answer, and its going is no
// failure.
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
