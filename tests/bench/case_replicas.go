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
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

const (
	// upgradeRate is how many runs are created a second while replicas are replaced.
	upgradeRate = 20
	// upgradeClients create them, each over a connection of its own.
	upgradeClients = 8
)

// measureReplicas compares one replica with three on the same cores, and then replaces each of the three under load.
func measureReplicas(children, concurrency int, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		stack.StopProcess(s.Server) // its place is taken by replicas
		replicas := &stack.ReplicaSet{Stack: s, Service: &stack.Service{}}
		defer replicas.Stop()
		for _, count := range []int{1, 3} {
			for len(replicas.Members) < count {
				began := time.Now()
				if err := replicas.Start(ctx); err != nil {
					return err
				}
				r.Add(fmt.Sprintf("replica %d: start to ready", len(replicas.Members)), time.Since(began).Seconds(), "s")
			}
			label := fmt.Sprintf("replicas: %d, ", count)
			if err := fanOut(replicas, ctx, r, label, children, concurrency); err != nil {
				return fmt.Errorf("%s%w", label, err)
			}
			if err := stack.Pause(ctx, min(settleTime, quiet)); err != nil {
				return err
			}
			for i, member := range replicas.Members {
				now, _, err := figures.MemoryOf(member.Process.Pid())
				if err != nil {
					return err
				}
				r.Add(fmt.Sprintf("%smemory of replica %d, after the fan-out", label, i+1), now, "MiB")
			}
		}
		if err := upgrade(replicas, ctx, r); err != nil {
			return err
		}
		return takeOver(replicas, ctx, r)
	}
}

// fanOut measures a parent with many children. Like a pod, the parent has one connection, so one replica takes all its calls.
func fanOut(s *stack.ReplicaSet, ctx context.Context, r *figures.Result, label string, children, concurrency int) error {
	s.Stack.Client.Close()
	s.Stack.Client = s.Service.Client(filepath.Join(s.Stack.Dir, "storage"))
	parent, err := startFakeParent(s.Stack, ctx)
	if err != nil {
		return err
	}
	before, err := s.UsedCPU()
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := stack.Each(children, concurrency, childName, func(name string) error {
		return s.Stack.Enqueue(ctx, parent.action, name, stack.WithPod)
	}); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	last, err := parent.awaitAll(ctx, children)
	if err != nil {
		return err
	}
	after, err := s.UsedCPU()
	if err != nil {
		return err
	}
	r.Add(label+"finished actions", float64(children)/last.Sub(began).Seconds(), "/s")
	r.Add(label+"CPU per action, all replicas", figures.Milliseconds(after-before)/float64(children), "ms")
	if err := parent.finish(ctx); err != nil {
		return err
	}
	return s.Stack.Node.Drained(ctx, 0)
}

// upgrade replaces all replicas while runs are created at a constant rate, and the same time without an upgrade for comparison.
func upgrade(s *stack.ReplicaSet, ctx context.Context, r *figures.Result) error {
	count := len(s.Members)
	began := time.Now()
	if err := createMeanwhile(s, ctx, r, "CreateRun during the upgrade", func(ctx context.Context) error {
		for range count {
			if err := s.Replace(ctx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	length := time.Since(began)
	r.Add("upgrade of all replicas", length.Seconds(), "s")
	return createMeanwhile(s, ctx, r, "CreateRun without an upgrade", func(ctx context.Context) error { return stack.Pause(ctx, length) })
}

// createMeanwhile creates runs until work returns. A call that finds no replica is made again, as the SDK does; its latency
// counts from its first try.
func createMeanwhile(s *stack.ReplicaSet, ctx context.Context, r *figures.Result, label string, work func(context.Context) error) error {
	clients := make([]*stack.Client, upgradeClients)
	for i := range clients {
		clients[i] = s.Service.Client(filepath.Join(s.Stack.Dir, "storage"))
		defer clients[i].Close()
	}
	var (
		mu       sync.Mutex
		calls    sync.WaitGroup
		taken    []time.Duration
		again    int
		failures []error
	)
	call := func(c *stack.Client, run ident.Run) {
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
			run := newRun(s.Stack, "upgrade")
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
func createWithRetry(ctx context.Context, c *stack.Client, run ident.Run) (tries int, err error) {
	for {
		tries++
		err := c.CreateRun(ctx, run)
		switch code := connect.CodeOf(err); {
		case err == nil, tries > 1 && code == connect.CodeAlreadyExists: // the answer to an earlier try was lost
			return tries, nil
		case code != connect.CodeUnavailable || ctx.Err() != nil:
			return tries, err
		}
		if err := stack.Pause(ctx, 50*time.Millisecond); err != nil {
			return tries, err
		}
	}
}
