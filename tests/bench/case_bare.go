package main

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// limit is what the parts of a fan-out do without the server: half of it is measured before the fan-out and half after it.
type limit struct {
	pods    stack.Bare
	commits []float64 // a second
}

// measureLimit runs the bare parts of what a fan-out of n children consists of: pods, or commits for actions without pods.
func measureLimit(ctx context.Context, s *stack.Stack, p *stack.FakeParent, k stack.Kind, n, concurrency int) (limit, error) {
	var l limit
	var err error
	switch n = min(n, 500); k {
	case stack.WithPod:
		if l.pods, err = s.BarePods(ctx, p.Pod(), n, concurrency, false); err != nil {
			return l, fmt.Errorf("bare pods: %w", err)
		}
	case stack.InEngine, stack.AsTrace:
		rate, err := s.BareCommits(ctx, n, concurrency)
		if err != nil {
			return l, fmt.Errorf("bare commits: %w", err)
		}
		l.commits = append(l.commits, rate)
	default:
	}
	return l, nil
}

func (l limit) and(again limit) limit {
	return limit{pods: l.pods.And(again.pods), commits: append(l.commits, again.commits...)}
}

// share records the limit, and how much of it the fan-out reached. Commits may be shared by actions, so theirs may exceed 100 %.
func (l limit) share(r *figures.Result, rate float64) {
	if l.pods.Pods > 0 {
		addBarePods(r, l.pods)
		r.Add("share of bare pods", 100*rate/l.pods.Rate(), "%")
	}
	if len(l.commits) == 2 {
		mean := 2 / (1/l.commits[0] + 1/l.commits[1])
		r.Add("bare commits", mean, "/s")
		r.Add("share of bare commits", 100*rate/mean, "%")
	}
}

// measureDropped runs a fan-out of n children without managed fields. The bare pods around the fan-out have some, as pods do; those after
// it have none.
func measureDropped(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	fanOut := measureFanOut(n, concurrency, stack.WithPod)
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := s.DropManagedFields(ctx); err != nil {
			return err
		}
		if err := fanOut(ctx, s, r); err != nil {
			return err
		}
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		pods, err := s.BarePods(ctx, p.Pod(), min(n, 500), concurrency, true)
		if err != nil {
			return fmt.Errorf("bare pods: %w", err)
		}
		r.Add("bare pods without managed fields", pods.Rate(), "/s")
		r.Add("CPU per such bare pod, "+stack.ApiserverName, figures.Milliseconds(pods.CPU[stack.ApiserverName])/float64(pods.Pods), "ms")
		return p.Finish(ctx)
	}
}

func addBarePods(r *figures.Result, pods stack.Bare) {
	r.Add("bare pods", pods.Rate(), "/s")
	for _, name := range []string{stack.ApiserverName, stack.EtcdName, stack.ClientName} {
		r.Add("CPU per bare pod, "+name, figures.Milliseconds(pods.CPU[name])/float64(pods.Pods), "ms")
	}
}

// measureBarePods runs pods without the server.
func measureBarePods(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		limit, err := s.BarePods(ctx, p.Pod(), n, concurrency, false)
		if err != nil {
			return err
		}
		addBarePods(r, limit)
		return p.Finish(ctx)
	}
}

// measureBareCommits commits rows without the server.
func measureBareCommits(n int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		for _, callers := range []int{1, 8, 32} {
			rate, err := s.BareCommits(ctx, n, callers)
			if err != nil {
				return err
			}
			r.Add(fmt.Sprintf("commits of %d callers", callers), rate, "/s")
		}
		return nil
	}
}
