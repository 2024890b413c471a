package gateway

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// wakeAgain is when an app that has no replica yet is woken again: a call can get lost with the replica of the apps
	// service that got it.
	wakeAgain = 10 * time.Second
	// callTimeout bounds one call of the apps service.
	callTimeout = 10 * time.Second
	// tryTimeout bounds one try to connect to a replica.
	tryTimeout = time.Second
)

// attendant looks after apps whose requests wait: it wakes those that sleep, and tries to connect to replicas, since one may
// accept requests before that is reported, and one that refused a connection may accept the next. There is at most one
// goroutine for an app, and none for an app that no one waits for.
type attendant struct {
	waker  Waker
	dialer *net.Dialer
	clock  clock.Clock
	log    zerolog.Logger
	meters *meters

	ctx context.Context //nolint:containedctx // of the service, to its stop

	mu      sync.Mutex
	stopped bool // GUARDED_BY(mu)
	working sync.WaitGroup
}

// call starts the goroutine of an app.
func (at *attendant) call(a *app) { at.do(func() { at.look(a) }) }

func (at *attendant) do(work func()) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if !at.stopped {
		at.working.Go(work)
	}
}

// wait waits for the goroutines, which end with the context, and lets none begin.
func (at *attendant) wait() {
	at.mu.Lock()
	at.stopped = true
	at.mu.Unlock()
	at.working.Wait()
}

// chores is what an app needs now.
type chores struct {
	wake  bool
	tries []*target
}

// chores returns what the app needs, and false when that is nothing; then the attendant must go, and is called again when it
// is needed.
func (a *app) chores() (chores, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || !a.needed() {
		a.attended = false
		return chores{}, false
	}
	c := chores{wake: a.waiting.Len() > 0 && len(a.targets) == 0 && a.route.Load().GetWakes()}
	for _, t := range a.targets {
		if !t.usable && (t.ready || a.waiting.Len() > 0) {
			c.tries = append(c.tries, t)
		}
	}
	return c, true
}

func (at *attendant) look(a *app) {
	pauses := backoff.New(5*time.Millisecond, 500*time.Millisecond)
	failures := backoff.New(100*time.Millisecond, 5*time.Second)
	var wakeAt time.Time
	var woken chan error // the answer to a call of the waker that is in flight
	for at.ctx.Err() == nil {
		c, needed := a.chores()
		if !needed {
			return
		}
		if c.wake && woken == nil && !at.clock.Now().Before(wakeAt) {
			woken = make(chan error, 1)
			at.do(func() { woken <- at.wake(a) })
		}
		at.try(a, c.tries)
		pause := at.clock.NewTimer(pauses.Next())
		select {
		case <-pause.C():
		case <-a.nudge:
			pauses.Reset()
		case err := <-woken:
			woken = nil
			wakeAt = at.clock.Now().Add(wakeAgain)
			if err == nil {
				failures.Reset()
				break
			}
			wakeAt = at.clock.Now().Add(failures.Next())
			if kind := rpc.KindOf(err); kind == rpc.KindNotFound || kind == rpc.KindFailedPrecondition {
				a.fail(&rpc.Error{Kind: kind, Message: rpcMessage(err), Err: err})
			}
		case <-at.ctx.Done():
		}
		pause.Stop()
	}
	a.fail(rpc.ErrShuttingDown)
}

// fail answers all who wait with an error.
func (a *app) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuse(err)
}

// wake asks the apps service for a replica.
func (at *attendant) wake(a *app) error {
	ctx, cancel := context.WithTimeout(at.ctx, callTimeout)
	defer cancel()
	_, err := at.waker.WakeApp(ctx, &enginev1.WakeAppRequest{Uid: a.uid})
	at.meters.woke(ctx, err)
	if err != nil && at.ctx.Err() == nil {
		at.log.Warn().Err(err).Str("app", pathKey(a.route.Load())).Msg("waking an app failed; retrying while requests wait")
	}
	return err
}

// try connects to replicas at once, and makes those usable that accept.
func (at *attendant) try(a *app, targets []*target) {
	var trying sync.WaitGroup
	for _, t := range targets {
		trying.Go(func() {
			ctx, cancel := context.WithTimeout(at.ctx, tryTimeout)
			defer cancel()
			conn, err := at.dialer.DialContext(ctx, "tcp", t.address)
			if err != nil {
				return
			}
			conn.Close()
			a.accepts(t)
		})
	}
	trying.Wait()
}
