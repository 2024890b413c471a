package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureAbort lets the pods of n children run and aborts their run.
func measureAbort(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		pods := s.Node.StartedPods()
		if _, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.UntilAborted) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		// All pods must run first: the abort of a pod that never started costs less.
		for s.Node.StartedPods()-pods < n {
			if err := stack.Pause(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("%d of %d pods run: %w", s.Node.StartedPods()-pods, n, err)
			}
		}
		before, err := s.Cluster.Requests(ctx)
		if err != nil {
			return err
		}
		usage, err := s.Usage()
		if err != nil {
			return err
		}
		p.Cancel() // ends the watch; the parent dies with its children
		<-p.Ended
		_ = p.Stream.Close() // already cut off

		began := time.Now()
		if _, err := s.API.AbortRun(ctx, &workflow.AbortRunRequest{RunId: p.Action.Run.Proto()}); err != nil {
			return fmt.Errorf("abort: %w", err)
		}
		r.Add("AbortRun answered after", figures.Milliseconds(time.Since(began)), "ms")
		if err := s.Node.Drained(ctx, 0); err != nil {
			return err
		}
		gone := time.Since(began)
		if err := settled(ctx, s, 0); err != nil {
			return err
		}
		used, err := s.Usage()
		if err != nil {
			return err
		}
		after, err := s.Cluster.Requests(ctx)
		if err != nil {
			return err
		}
		r.Add("last pod gone after", gone.Seconds(), "s")
		r.Add("pods stopped", float64(n)/gone.Seconds(), "/s")
		r.Add("nothing left after", time.Since(began).Seconds(), "s")
		addWrites(r, after.Since(before), n)
		used.Since(usage).PerAction(r, n)
		return nil
	}
}
