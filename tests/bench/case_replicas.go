package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

const (
	// upgradeRate is how many runs are created a second while replicas are replaced.
	upgradeRate = 20
	// upgradeClients create them, each over a connection of its own.
	upgradeClients = 8
)

// measureReplicas compares one replica with three on the same cores, and then replaces each of the three under load.
func measureReplicas(children, concurrency int, quiet time.Duration) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		stopProcess(s.server) // its place is taken by replicas
		replicas := &replicaSet{stack: s, service: &service{}}
		defer replicas.stop()
		for _, count := range []int{1, 3} {
			for len(replicas.members) < count {
				began := time.Now()
				if err := replicas.start(ctx); err != nil {
					return err
				}
				r.Add(fmt.Sprintf("replica %d: start to ready", len(replicas.members)), time.Since(began).Seconds(), "s")
			}
			label := fmt.Sprintf("replicas: %d, ", count)
			if err := replicas.fanOut(ctx, r, label, children, concurrency); err != nil {
				return fmt.Errorf("%s%w", label, err)
			}
			if err := pause(ctx, min(settleTime, quiet)); err != nil {
				return err
			}
			for i, member := range replicas.members {
				now, _, err := figures.MemoryOf(member.process.Pid())
				if err != nil {
					return err
				}
				r.Add(fmt.Sprintf("%smemory of replica %d, after the fan-out", label, i+1), now, "MiB")
			}
		}
		if err := replicas.upgrade(ctx, r); err != nil {
			return err
		}
		return replicas.takeOver(ctx, r)
	}
}

// fanOut measures a parent with many children. Like a pod, the parent has one connection, so one replica takes all its calls.
func (s *replicaSet) fanOut(ctx context.Context, r *figures.Result, label string, children, concurrency int) error {
	s.stack.client.close()
	s.stack.client = s.service.client(filepath.Join(s.stack.dir, "storage"))
	parent, err := s.stack.startFakeParent(ctx)
	if err != nil {
		return err
	}
	before, err := s.usedCPU()
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := each(children, concurrency, childName, func(name string) error {
		return s.stack.enqueue(ctx, parent.action, name, withPod)
	}); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	last, err := parent.awaitAll(ctx, children)
	if err != nil {
		return err
	}
	after, err := s.usedCPU()
	if err != nil {
		return err
	}
	r.Add(label+"finished actions", float64(children)/last.Sub(began).Seconds(), "/s")
	r.Add(label+"CPU per action, all replicas", figures.Milliseconds(after-before)/float64(children), "ms")
	if err := parent.finish(ctx); err != nil {
		return err
	}
	return s.stack.node.drained(ctx, 0)
}

// upgrade replaces all replicas while runs are created at a constant rate, and the same time without an upgrade for comparison.
func (s *replicaSet) upgrade(ctx context.Context, r *figures.Result) error {
	count := len(s.members)
	began := time.Now()
	if err := s.createMeanwhile(ctx, r, "CreateRun during the upgrade", func(ctx context.Context) error {
		for range count {
			if err := s.replace(ctx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	length := time.Since(began)
	r.Add("upgrade of all replicas", length.Seconds(), "s")
	return s.createMeanwhile(ctx, r, "CreateRun without an upgrade", func(ctx context.Context) error { return pause(ctx, length) })
}

// createMeanwhile creates runs until work returns. A call that finds no replica is made again, as the SDK does; its latency
// counts from its first try.
func (s *replicaSet) createMeanwhile(ctx context.Context, r *figures.Result, label string, work func(context.Context) error) error {
	clients := make([]*client, upgradeClients)
	for i := range clients {
		clients[i] = s.service.client(filepath.Join(s.stack.dir, "storage"))
		defer clients[i].close()
	}
	var (
		mu       sync.Mutex
		calls    sync.WaitGroup
		taken    []time.Duration
		again    int
		failures []error
	)
	call := func(c *client, run ident.Run) {
		began := time.Now()
		tries, err := createWithRetry(ctx, c, run)
		mu.Lock()
		defer mu.Unlock()
		taken, again = append(taken, time.Since(began)), again+tries-1
		if err != nil {
			failures = append(failures, err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	tick := time.NewTicker(time.Second / upgradeRate)
	defer tick.Stop()
	var failure error
	for i, working := 0, true; working; i++ {
		select {
		case failure = <-done:
			working = false
		case <-tick.C:
			run := s.stack.newRun("upgrade")
			calls.Go(func() { call(clients[i%len(clients)], run) })
		}
	}
	calls.Wait()
	r.Latency(label, taken)
	r.Add(label+", calls", float64(len(taken)), "")
	r.Add(label+", tries beyond the first", float64(again), "")
	r.Add(label+", failed calls", float64(len(failures)), "")
	return errors.Join(append(failures, failure)...)
}

// createWithRetry creates a run until a replica answers, and returns how many tries it took.
func createWithRetry(ctx context.Context, c *client, run ident.Run) (tries int, err error) {
	for {
		tries++
		err := c.createRun(ctx, run)
		switch code := connect.CodeOf(err); {
		case err == nil, tries > 1 && code == connect.CodeAlreadyExists: // the answer to an earlier try was lost
			return tries, nil
		case code != connect.CodeUnavailable || ctx.Err() != nil:
			return tries, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return tries, err
		}
	}
}
