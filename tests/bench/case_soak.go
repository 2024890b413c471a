package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureSoak starts run after run, half of their children with pods, a quarter built in, a quarter traces, until n actions
// are done or the time limit expires. It reports what has grown since the first tenth: memory of the server and of the API
// server, what etcd holds apart from past revisions, and our objects that are left in it.
func measureSoak(n int, limit time.Duration, round, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := s.WriteSleepInputs(); err != nil {
			return err
		}
		kinds := []stack.Kind{stack.WithPod, stack.InEngine, stack.WithPod, stack.AsTrace}
		began, done := time.Now(), 0
		var warm sample
		over := func() bool { return done >= n || limit > 0 && time.Since(began) > limit }
		for !over() {
			p, err := stack.StartFakeParent(ctx, s)
			if err != nil {
				return err
			}
			_, err = stack.Each(round, concurrency, func(i int) int { return i }, func(i int) error {
				return s.Enqueue(ctx, p.Action, childName(i), kinds[i%len(kinds)])
			})
			if err != nil {
				return fmt.Errorf("enqueue: %w", err)
			}
			if _, err := p.AwaitAll(ctx, round); err != nil {
				return err
			}
			if err := p.Finish(ctx); err != nil {
				return err
			}
			done += round
			isWarm := done >= n/10 || limit > 0 && time.Since(began) > limit/10
			if warm.actions == 0 && isWarm {
				if warm, err = takeSample(ctx, s, done); err != nil {
					return err
				}
			}
		}
		elapsed := time.Since(began)
		if err := settled(ctx, s, 0); err != nil {
			return err
		}
		if err := stack.Pause(ctx, min(settleTime, elapsed)); err != nil {
			return err
		}
		end, err := takeSample(ctx, s, done)
		if err != nil {
			return err
		}
		r.Add("done", float64(done), "actions")
		r.Add("done per second", float64(done)/elapsed.Seconds(), "actions/s")
		for _, c := range []struct {
			name     string
			from, to float64
			unit     string
		}{
			{"memory of the server", warm.server, end.server, "MiB"},
			{"goroutines of the server", warm.goroutines, end.goroutines, ""},
			{"memory of the API server", warm.apiserver, end.apiserver, "MiB"},
			{"etcd, past revisions aside,", warm.etcd, end.etcd, "MiB"},
		} {
			r.Add(fmt.Sprintf("%s after %d actions", c.name, warm.actions), c.from, c.unit)
			r.Add(fmt.Sprintf("%s after %d actions", c.name, end.actions), c.to, c.unit)
		}
		r.Add("objects left in the API server", float64(end.objects), "")
		return nil
	}
}

// sample is what must not grow.
type sample struct {
	actions                             int
	server, apiserver, etcd, goroutines float64 // MiB, and a number
	objects                             int
}

func takeSample(ctx context.Context, s *stack.Stack, actions int) (sample, error) {
	x := sample{actions: actions}
	var err error
	if x.server, _, err = figures.MemoryOf(s.Server.Pid()); err != nil {
		return x, err
	}
	if x.apiserver, _, err = figures.MemoryOf(s.Cluster.Apiserver.Pid()); err != nil {
		return x, err
	}
	inUse, err := s.EtcdInUse(ctx)
	if err != nil {
		return x, err
	}
	x.etcd = float64(inUse) / (1 << 20)
	if x.goroutines, err = goroutines(ctx, s); err != nil {
		return x, err
	}
	if x.objects, err = s.Cluster.TaskActions(ctx); err != nil {
		return x, err
	}
	x.objects += len(s.Node.Pods.ListKeys())
	return x, nil
}

// goroutines reads the server's number of goroutines from its metrics.
func goroutines(ctx context.Context, s *stack.Stack) (float64, error) {
	body, err := s.Get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	return stack.SumOf(body, "go_goroutines")
}
