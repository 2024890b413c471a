package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/faults/stack"
)

// weather makes the faults of a storm happen, and mends them.
type weather struct {
	stack  *stack.Stack
	server *keeper
	node   *keeper
	etcd   *keeper
	api    *keeper
	harm   *harm
	say    func(format string, args ...any)
	offset time.Duration // of the clock, from all storms on this stack
}

// rage lets everything happen in its time and returns when all of it is mended.
func (w *weather) rage(ctx context.Context, faults []fault) {
	began := time.Now()
	var all sync.WaitGroup
	for _, f := range faults {
		all.Go(func() {
			if !sleep(ctx, f.at-time.Since(began)) {
				return
			}
			if err := w.strike(ctx, f); err != nil && ctx.Err() == nil {
				w.say("%s: %v", f, err)
			}
		})
	}
	all.Wait()
}

// mend makes sure that nothing is broken any more and waits until the server is ready.
func (w *weather) mend(ctx context.Context) error {
	_ = w.stack.Disarm() // it may have struck
	w.stack.Front.Refuse(false)
	w.stack.Front.Slow(0)
	w.stack.Front.DropFrozen()
	w.stack.Database.Refuse(false)
	w.stack.Database.DropFrozen()
	w.stack.API.Fail(0, 0)
	if err := w.stack.Empty(); err != nil {
		return err
	}
	for w.stack.Ready(ctx) != nil {
		if !sleep(ctx, 50*time.Millisecond) {
			return fmt.Errorf("the server is not ready again: %w", ctx.Err())
		}
	}
	return nil
}

func (w *weather) strike(ctx context.Context, f fault) error {
	s := w.stack
	switch f.kind {
	case kindKill:
		w.server.down(ctx, f.length/4)
	case kindStop:
		s.Server.Signal(syscall.SIGSTOP)
		sleep(ctx, 2*f.length)
		s.Server.Signal(syscall.SIGCONT)
	case kindEtcd:
		// The whole control plane. An API server that outlives its etcd was seen to miss events afterwards: objects are in
		// etcd that its watches and cached lists never tell of, and no client can see them then.
		return w.etcd.while(func() error { w.api.down(ctx, f.length); return nil })
	case kindPoint:
		return s.Arm(f.point, f.turn)
	case kindPostgresFast:
		return signalPid(s.Postgres.Pid(), syscall.SIGINT)
	case kindPostgresCrash:
		return signalPid(s.Postgres.Pid(), syscall.SIGQUIT)
	case kindPostgresCut:
		return w.harm.terminateBackends(ctx)
	case kindPostgresHang:
		s.Database.Freeze()
		sleep(ctx, f.length)
		if f.number%2 == 0 {
			s.Database.Thaw()
		} else {
			s.Database.DropFrozen()
		}
	case kindAPIKill:
		w.api.down(ctx, f.length)
	case kindCompact: // while it is away: it goes on from what its clients cannot know
		return w.api.while(func() error { return s.Compact(ctx) })
	case kindAPIStop:
		s.APIServer.Signal(syscall.SIGSTOP)
		sleep(ctx, f.length)
		s.APIServer.Signal(syscall.SIGCONT)
	case kindThrottle, kindConflict:
		status := 429
		if f.kind == kindConflict {
			status = 409
		}
		s.API.Fail(0.5, status)
		sleep(ctx, f.length)
		s.API.Fail(0, 0)
	case kindHalfOpen:
		s.Front.Freeze() // for ever: whoever waits has to find out
	case kindCut:
		s.Front.Cut()
	case kindSlow:
		s.Front.Slow(20 * time.Millisecond)
		sleep(ctx, f.length)
		s.Front.Slow(0)
	case kindDisk:
		return w.fillDisk(ctx, f)
	case kindClock:
		w.offset += time.Duration(f.number) * time.Second
		return s.StepClock(w.offset)
	case kindReplay:
		return w.harm.replay(ctx, rand.N(100)+20) //nolint:gosec // chance
	case kindPods:
		return w.harm.deletePods(ctx, f.number)
	case kindTaskActions:
		return w.harm.deleteTaskActions(ctx, f.number)
	case kindNode:
		w.node.down(ctx, f.length)
	}
	return nil
}

func (w *weather) fillDisk(ctx context.Context, f fault) error {
	if !w.stack.CanFill() {
		w.say("the disk of the store cannot be filled here: that needs root on Linux")
		return nil
	}
	if err := w.stack.Fill(); err != nil {
		return err
	}
	sleep(ctx, f.length)
	return w.stack.Empty()
}

func signalPid(pid int, signal syscall.Signal) error {
	if pid == 0 {
		return nil // It is down already.
	}
	return syscall.Kill(pid, signal)
}
