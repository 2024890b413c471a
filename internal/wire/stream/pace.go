package stream

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// Timing configures the Pace of a stream.
type Timing struct {
	// Heartbeat is how long a stream may send nothing until a heartbeat is due; 0 means that it has none.
	Heartbeat time.Duration
	// Poll is how often the stream looks for changes of which it was not notified; 0 means never.
	Poll time.Duration
	// MaxAge is when a stream ends cleanly. The limit of each stream is up to a fifth lower, so that streams that began together
	// do not end together. Required.
	MaxAge time.Duration
	// Closing ends the stream when it is closed; nil means never.
	Closing <-chan struct{}
}

// Event is what a stream does next.
type Event int

// The events for which Wait waits.
const (
	Ready     Event = iota // the caller's channel has a token
	PauseOver              // the caller's timer has fired
	Heartbeat              // nothing was sent for the interval of heartbeats
	Poll                   // the interval of polls has passed
	Expired                // the stream has reached its maximum age
)

// Pace is the timing of one stream of a server. It is used by one goroutine.
type Pace struct {
	clock  clock.Clock
	timing Timing

	heart, poll clock.Timer // nil without an interval
	life        clock.Timer
	sent        time.Time // when something was sent last
	polled      bool      // the poll timer has fired and was not started again
}

// NewPace starts the timing of a stream. The caller must stop it.
func NewPace(c clock.Clock, timing Timing) *Pace {
	p := &Pace{clock: c, timing: timing, sent: c.Now()}
	p.life = c.NewTimer(timing.MaxAge - time.Duration(rand.Int64N(int64(timing.MaxAge)/5+1))) //nolint:gosec // spreads load
	if timing.Heartbeat > 0 {
		p.heart = c.NewTimer(timing.Heartbeat)
	}
	if timing.Poll > 0 {
		p.poll = c.NewTimer(timing.Poll)
	}
	return p
}

// Stop releases the timers.
func (p *Pace) Stop() {
	for _, timer := range []clock.Timer{p.life, p.heart, p.poll} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// Sent records that a message was sent, so that the next heartbeat is due an interval later. A stream that sends heartbeats at
// fixed times does not call it. The timer is not reset here: when it fires, Wait waits for the rest of the interval.
func (p *Pace) Sent() { p.sent = p.clock.Now() }

// Wait blocks until there is something to do. ready and pause may be nil. It returns an error when the context ends, which is when
// the client has left, the server stops or the caller has lost the right to the stream, and when the service closes.
func (p *Pace) Wait(ctx context.Context, ready <-chan struct{}, pause <-chan time.Time) (Event, error) {
	event, err := p.next(ctx, ready, pause)
	if err != nil {
		return event, err
	}
	return event, failpoint.Hang(ctx)
}

func (p *Pace) next(ctx context.Context, ready <-chan struct{}, pause <-chan time.Time) (Event, error) {
	if p.polled { // the interval begins after the poll, however long that took
		p.polled = false
		p.poll.Reset(p.timing.Poll)
	}
	for {
		select {
		case <-p.timing.Closing:
			return Expired, rpc.SubscribeAgain()
		case <-ctx.Done():
			return Expired, context.Cause(ctx)
		case <-p.life.C():
			return Expired, nil
		case <-ready:
			return Ready, nil
		case <-pause:
			return PauseOver, nil
		case <-channel(p.poll):
			p.polled = true
			return Poll, nil
		case <-channel(p.heart):
			left := p.timing.Heartbeat - p.clock.Now().Sub(p.sent)
			if left <= 0 || left > p.timing.Heartbeat { // more is left when the clock was set back
				p.heart.Reset(p.timing.Heartbeat)
				return Heartbeat, nil
			}
			p.heart.Reset(left)
		}
	}
}

// channel returns the channel of a timer, or nil, which never delivers, for no timer.
func channel(timer clock.Timer) <-chan time.Time {
	if timer == nil {
		return nil
	}
	return timer.C()
}
