package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/connector"
	"github.com/flyte-binary/flyte-binary/tests/faults/sink"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// injector applies the faults of a storm and heals them.
type injector struct {
	stack   *stack.Stack
	server  *restarter
	node    *restarter
	etcd    *restarter
	api     *restarter
	replica *restarter
	// controllers are those of the sides, where there are two clusters.
	controllers []*restarter
	outsider    *outsider
	say         func(format string, args ...any)
	arming      sync.Mutex // held while a point is armed
}

// inject applies each fault at its time and returns when all are over.
func (i *injector) inject(ctx context.Context, faults []fault) {
	began := time.Now()
	var all sync.WaitGroup
	for _, f := range faults {
		all.Go(func() {
			if !sleep(ctx, f.at-time.Since(began)) {
				return
			}
			if err := i.apply(ctx, f); err != nil && ctx.Err() == nil {
				i.say("%s: %v", f, err)
			}
		})
	}
	all.Wait()
}

// heal ends every fault that may still be active and waits until the server is ready.
func (i *injector) heal(ctx context.Context) error {
	_ = i.stack.Disarm() // it may have struck already
	if err := i.stack.Hang(false); err != nil {
		return err
	}
	i.stack.Front.Refuse(false)
	i.stack.Front.Slow(0)
	i.stack.Front.DropFrozen()
	i.healLines()
	i.stack.Database.Refuse(false)
	i.stack.Database.DropFrozen()
	i.stack.API.Fail(0, 0)
	i.stack.OperatorsLeave(false)
	i.stack.Connector.Set(connector.Healthy)
	i.stack.ToConnector.Refuse(false)
	i.stack.ToConnector.DropFrozen()
	i.stack.Kubelets.Hang(false)
	i.stack.Sink.Set(sink.Healthy)
	i.stack.Vault.Seal(false)
	if err := i.stack.Empty(); err != nil {
		return err
	}
	return i.awaitReady(ctx)
}

// awaitReady waits until the server is ready, as long as it does something: on a busy machine that takes minutes.
func (i *injector) awaitReady(ctx context.Context) error {
	last, moved := i.stack.Server.Activity(), time.Now()
	for {
		err := i.stack.Ready(ctx)
		if err == nil {
			return nil
		}
		if now := i.stack.Server.Activity(); now != last {
			last, moved = now, time.Now()
		}
		if time.Since(moved) > stuckAfter {
			return fmt.Errorf("the server is not ready again, and did nothing for %s: %w", stuckAfter, err)
		}
		if !sleep(ctx, 50*time.Millisecond) {
			return fmt.Errorf("the server is not ready again: %w; %w", ctx.Err(), err)
		}
	}
}

func (i *injector) apply(ctx context.Context, f fault) error {
	s := i.stack
	if isOfLine(f) {
		i.strikeLine(ctx, f)
		return nil
	}
	switch f.kind {
	case kindKill:
		i.server.down(ctx, f.length/4)
	case kindStop:
		freeze(ctx, s.Server, 2*f.length)
	case kindReplicaKill:
		i.replica.down(ctx, f.length)
	case kindReplicaStop:
		freeze(ctx, s.Replica, 2*f.length)
	case kindFreeze:
		freeze(ctx, s.Server, f.length)
	case kindReplicaFreeze:
		freeze(ctx, s.Replica, f.length)
	case kindEtcd:
		// The whole control plane. An API server that outlives its etcd was seen to miss events afterwards: objects are
		// in etcd that its watches and cached lists never show, so no client can see them.
		return i.etcd.while(func() error { i.api.down(ctx, f.length); return nil })
	case kindPoint, kindJobPoint, kindReclaimPoint:
		return i.dieAt(ctx, f)
	case kindPostgresFast:
		return signalPid(s.Postgres.Pid(), syscall.SIGINT)
	case kindPostgresCrash:
		return signalPid(s.Postgres.Pid(), syscall.SIGQUIT)
	case kindPostgresCut:
		return i.outsider.terminateBackends(ctx)
	case kindPostgresHang:
		s.Database.Freeze()
		sleep(ctx, f.length)
		if f.number%2 == 0 {
			s.Database.Thaw()
		} else {
			s.Database.DropFrozen()
		}
	case kindPostgresStop:
		thaw, err := i.outsider.stopPostgres(ctx)
		sleep(ctx, 3*f.length)
		thaw()
		return err
	case kindAPIKill:
		i.api.down(ctx, f.length)
	case kindCompact: // while it is down, so that no client can resume its watch
		return i.api.while(func() error { return s.Compact(ctx) })
	case kindAPIStop:
		freeze(ctx, s.APIServer, f.length)
	case kindAPISlow:
		s.API.Slow(12 * time.Second)
		sleep(ctx, f.length)
		s.API.Slow(0)
	case kindThrottle, kindConflict:
		status := 429
		if f.kind == kindConflict {
			status = 409
		}
		s.API.Fail(0.5, status)
		sleep(ctx, f.length)
		s.API.Fail(0, 0)
	case kindHalfOpen:
		s.Front.Freeze() // forever: callers must notice by themselves
	case kindCut:
		s.Front.Cut()
	case kindSlow:
		s.Front.Slow(20 * time.Millisecond)
		sleep(ctx, f.length)
		s.Front.Slow(0)
	case kindHang: // those that hang do so forever: their clients must notice by themselves
		if err := s.Hang(true); err != nil {
			return err
		}
		sleep(ctx, f.length)
		return s.Hang(false)
	case kindDisk:
		return i.fillDisk(ctx, f)
	case kindClock:
		return s.StepClock(time.Duration(f.number) * time.Second)
	case kindSinksSlow, kindSinksRefuse, kindSinksCut, kindSinksForget, kindSinksStammer:
		s.Sink.Set(sinkModes[f.kind])
		sleep(ctx, 2*f.length)
		s.Sink.Set(sink.Healthy)
	case kindVault:
		s.Vault.Seal(true)
		sleep(ctx, 2*f.length)
		s.Vault.Seal(false)
	case kindReplay:
		return i.outsider.replay(ctx, rand.N(100)+20)
	case kindPods:
		return i.outsider.deletePods(ctx, f.number)
	case kindTaskActions:
		return i.outsider.deleteTaskActions(ctx, f.number)
	case kindObjects:
		return i.outsider.deleteObjects(ctx, f.number)
	case kindKubelet:
		s.Kubelets.Hang(true)
		sleep(ctx, 2*f.length)
		s.Kubelets.Hang(false)
	case kindOperators:
		s.OperatorsLeave(true)
		sleep(ctx, 3*f.length)
		s.OperatorsLeave(false)
	case kindConnectorAway, kindConnectorHang, kindConnectorOdd, kindConnectorLost, kindJobsLost:
		i.strikeConnector(ctx, f)
	case kindWorkers:
		return i.signalWorkers(f.number, syscall.SIGKILL)
	case kindWorkersFreeze:
		err := i.signalWorkers(f.number, syscall.SIGSTOP)
		sleep(ctx, f.length)
		return errors.Join(err, i.signalWorkers(math.MaxInt, syscall.SIGCONT))
	case kindNode:
		i.node.down(ctx, f.length)
	}
	return nil
}

// strikeConnector applies a fault of the connector.
func (i *injector) strikeConnector(ctx context.Context, f fault) {
	system, way := i.stack.Connector, i.stack.ToConnector
	switch f.kind {
	case kindConnectorAway:
		way.Refuse(true)
		way.Cut()
		sleep(ctx, 3*f.length)
		way.Refuse(false)
	case kindConnectorHang:
		way.Freeze()
		sleep(ctx, 3*f.length)
		way.DropFrozen()
	case kindJobsLost:
		system.Lose(f.number)
	default:
		system.Set(map[string]connector.Mode{kindConnectorOdd: connector.Confused, kindConnectorLost: connector.Forgetful}[f.kind])
		sleep(ctx, 3*f.length)
		system.Set(connector.Healthy)
	}
}

// pointPatience is how long the server may take to pass a point. What ends runs comes late in a storm.
const pointPatience = 10 * time.Second

// lossPatience is the same for what comes only when a cluster is lost.
const lossPatience = 25 * time.Second

// dieAt waits until a server has died at a point, or passes it too rarely. One point is armed at a time.
func (i *injector) dieAt(ctx context.Context, f fault) error {
	i.arming.Lock()
	defer i.arming.Unlock()
	if err := i.stack.Arm(f.point, f.turn); err != nil {
		return err
	}
	patience := pointPatience
	if f.kind == kindReclaimPoint {
		patience = lossPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i.stack.Armed() && sleep(ctx, 50*time.Millisecond) {
	}
	return i.stack.Disarm()
}

func (i *injector) fillDisk(ctx context.Context, f fault) error {
	if !i.stack.CanFill() {
		i.say("the disk of the store cannot be filled here: that needs root on Linux")
		return nil
	}
	if err := i.stack.Fill(); err != nil {
		return err
	}
	sleep(ctx, f.length)
	return i.stack.Empty()
}

// freeze stops a process for a while.
func freeze(ctx context.Context, p *stack.Process, length time.Duration) {
	p.Signal(syscall.SIGSTOP)
	sleep(ctx, length)
	p.Signal(syscall.SIGCONT)
}

// signalWorkers sends a signal to up to n workers.
func (i *injector) signalWorkers(n int, signal syscall.Signal) error {
	pids := i.stack.WorkerProcesses()
	var errs []error
	for _, one := range some(len(pids), n) {
		if err := signalPid(pids[one], signal); !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func signalPid(pid int, signal syscall.Signal) error {
	if pid == 0 {
		return nil // It is down already.
	}
	return syscall.Kill(pid, signal)
}
