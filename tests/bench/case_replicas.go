package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
			if err := fanOut(ctx, replicas, r, label, children, concurrency); err != nil {
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
		if err := upgrade(ctx, replicas, r); err != nil {
			return err
		}
		return takeOver(ctx, replicas, r)
	}
}

// fanOut measures a parent with many children. Like a pod, the parent has one connection, so one replica takes all its calls.
func fanOut(ctx context.Context, s *stack.ReplicaSet, r *figures.Result, label string, children, concurrency int) error {
	s.Stack.Client.Close()
	s.Stack.Client = s.Service.Client(filepath.Join(s.Stack.Dir, "storage"))
	parent, err := stack.StartFakeParent(ctx, s.Stack)
	if err != nil {
		return err
	}
	before, err := s.UsedCPU()
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := stack.Each(children, concurrency, childName, func(name string) error {
		return s.Stack.Enqueue(ctx, parent.Action, name, stack.WithPod)
	}); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	last, err := parent.AwaitAll(ctx, children)
	if err != nil {
		return err
	}
	after, err := s.UsedCPU()
	if err != nil {
		return err
	}
	r.Add(label+"finished actions", float64(children)/last.Sub(began).Seconds(), "/s")
	r.Add(label+"CPU per action, all replicas", figures.Milliseconds(after-before)/float64(children), "ms")
	if err := parent.Finish(ctx); err != nil {
		return err
	}
	return s.Stack.Node.Drained(ctx, 0)
}

// upgrade replaces all replicas while runs are created at a constant rate, and the same time without an upgrade for comparison.
func upgrade(ctx context.Context, s *stack.ReplicaSet, r *figures.Result) error {
	count := len(s.Members)
	began := time.Now()
	if err := createMeanwhile(ctx, s, r, "CreateRun during the upgrade", func(ctx context.Context) error {
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
	return createMeanwhile(ctx, s, r, "CreateRun without an upgrade", func(ctx context.Context) error { return stack.Pause(ctx, length) })
}

// createMeanwhile creates runs until work returns. A call that finds no replica is made again, as the SDK does; its latency
// counts from its first try.
func createMeanwhile(ctx context.Context, s *stack.ReplicaSet, r *figures.Result, label string, work func(context.Context) error) error {
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
			run := s.Stack.NewRun("upgrade")
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

// takeoverRuns are created right after a replica was killed: some for each shard.
const takeoverRuns = 4 * ident.Shards

// takeOver kills a replica and creates runs. Those whose shard the replica owned wait until another one has taken it over.
func takeOver(ctx context.Context, s *stack.ReplicaSet, r *figures.Result) error {
	last := len(s.Members) - 1
	killed := s.Members[last]
	s.Members = s.Members[:last]
	s.Service.Remove(killed.Address)
	killed.Process.Kill()
	began := time.Now()

	s.Stack.Client.Close()
	s.Stack.Client = s.Service.Client(filepath.Join(s.Stack.Dir, "storage"))
	runs := make([]ident.Run, takeoverRuns)
	for i := range runs {
		runs[i] = s.Stack.NewRun("takeover")
		if _, err := createWithRetry(ctx, s.Stack.Client, runs[i]); err != nil {
			return fmt.Errorf("create a run after a replica was killed: %w", err)
		}
	}
	ends := make(chan error)
	done := make([]time.Duration, takeoverRuns)
	for i, run := range runs {
		go func() {
			err := awaitRun(ctx, s.Stack, run)
			done[i] = time.Since(began)
			ends <- err
		}()
	}
	var failure error
	for range runs {
		if err := <-ends; err != nil {
			failure = err
		}
	}
	if failure != nil {
		return fmt.Errorf("wait for the runs after a replica was killed: %w", failure)
	}
	slices.Sort(done)
	r.Add("kill -9 of one of three, runs created then: half done after", done[takeoverRuns/2].Seconds(), "s")
	r.Add("kill -9 of one of three, runs created then: all done after", done[takeoverRuns-1].Seconds(), "s")
	return nil
}
