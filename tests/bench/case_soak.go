package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// measureSoak starts run after run, half of their children with pods, a quarter built in, a quarter traces, until n actions
// are done or the time limit expires. It reports what has grown since the first tenth: memory of the server and of the API
// server, what etcd holds apart from past revisions, and our objects that are left in it.
func measureSoak(n int, limit time.Duration, round, concurrency int) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		if err := s.writeSleepInputs(); err != nil {
			return err
		}
		kinds := []kind{withPod, inEngine, withPod, asTrace}
		began, done := time.Now(), 0
		var warm sample
		over := func() bool { return done >= n || limit > 0 && time.Since(began) > limit }
		for !over() {
			p, err := s.startFakeParent(ctx)
			if err != nil {
				return err
			}
			_, err = each(round, concurrency, func(i int) int { return i }, func(i int) error {
				return s.enqueue(ctx, p.action, childName(i), kinds[i%len(kinds)])
			})
			if err != nil {
				return fmt.Errorf("enqueue: %w", err)
			}
			if _, err := p.awaitAll(ctx, round); err != nil {
				return err
			}
			if err := p.finish(ctx); err != nil {
				return err
			}
			done += round
			isWarm := done >= n/10 || limit > 0 && time.Since(began) > limit/10
			if warm.actions == 0 && isWarm {
				if warm, err = s.takeSample(ctx, done); err != nil {
					return err
				}
			}
		}
		elapsed := time.Since(began)
		if err := s.settled(ctx, 0); err != nil {
			return err
		}
		if err := pause(ctx, min(settleTime, elapsed)); err != nil {
			return err
		}
		end, err := s.takeSample(ctx, done)
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

func (s *stack) takeSample(ctx context.Context, actions int) (sample, error) {
	x := sample{actions: actions}
	var err error
	if x.server, _, err = figures.MemoryOf(s.server.Pid()); err != nil {
		return x, err
	}
	if x.apiserver, _, err = figures.MemoryOf(s.cluster.apiserver.Pid()); err != nil {
		return x, err
	}
	inUse, err := s.etcdInUse(ctx)
	if err != nil {
		return x, err
	}
	x.etcd = float64(inUse) / (1 << 20)
	if x.goroutines, err = s.goroutines(ctx); err != nil {
		return x, err
	}
	if x.objects, err = s.cluster.taskActions(ctx); err != nil {
		return x, err
	}
	x.objects += len(s.node.pods.ListKeys())
	return x, nil
}

// goroutines reads the server's number of goroutines from its metrics.
func (s *stack) goroutines(ctx context.Context) (float64, error) {
	body, err := s.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	return sumOf(body, "go_goroutines")
}
