package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// measureAbort lets the pods of n children run and aborts their run.
func measureAbort(n, concurrency int) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		p, err := s.startFakeParent(ctx)
		if err != nil {
			return err
		}
		pods := s.node.startedPods()
		if _, err := each(n, concurrency, childName, func(name string) error { return s.enqueue(ctx, p.action, name, untilAborted) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		for s.node.startedPods()-pods < n {
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("%d of %d pods run: %w", s.node.startedPods()-pods, n, err)
			}
		}
		before, err := s.cluster.requests(ctx)
		if err != nil {
			return err
		}
		usage, err := s.usage()
		if err != nil {
			return err
		}
		p.cancel() // ends the watch; the parent dies with its children
		<-p.ended
		_ = p.stream.Close() // already cut off

		began := time.Now()
		if _, err := s.api.AbortRun(ctx, &workflow.AbortRunRequest{RunId: p.action.Run.Proto()}); err != nil {
			return fmt.Errorf("abort: %w", err)
		}
		r.Add("AbortRun answered after", figures.Milliseconds(time.Since(began)), "ms")
		if err := s.node.drained(ctx, 0); err != nil {
			return err
		}
		gone := time.Since(began)
		if err := s.settled(ctx, 0); err != nil {
			return err
		}
		used, err := s.usage()
		if err != nil {
			return err
		}
		after, err := s.cluster.requests(ctx)
		if err != nil {
			return err
		}
		r.Add("last pod gone after", gone.Seconds(), "s")
		r.Add("pods stopped", float64(n)/gone.Seconds(), "/s")
		r.Add("nothing left after", time.Since(began).Seconds(), "s")
		addWrites(r, after.since(before), n)
		used.since(usage).perAction(r, n)
		return nil
	}
}
