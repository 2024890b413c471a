package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
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

// measureAbortWaiting aborts a run with n children that wait, and measures what other writers notice until all of them
// have ended.
func measureAbortWaiting(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		if _, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.AsCondition) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		other, err := stack.StartFakeParent(ctx, s)
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

		// One call at a time, so that each one waits behind as much of the abort as there is: that is what the users of
		// other runs notice.
		var taken []time.Duration
		for left := n; left > 0; {
			from := time.Now()
			if err := s.Enqueue(ctx, other.Action, fmt.Sprintf("other%d", len(taken)), stack.AsTrace); err != nil {
				return fmt.Errorf("enqueue of another run: %w", err)
			}
			taken = append(taken, time.Since(from))
			// Counting is a query of its own, and would be most of the load if it came with each call.
			if len(taken)%20 > 0 {
				continue
			}
			if left, err = unfinished(ctx, s, p); err != nil {
				return err
			}
		}
		r.Add("all ended after", time.Since(began).Seconds(), "s")
		r.Latency("Enqueue in another run meanwhile", taken)
		return other.Finish(ctx)
	}
}

// unfinished counts the paused children of a parent, roughly: it reads one page.
func unfinished(ctx context.Context, s *stack.Stack, p *stack.FakeParent) (int, error) {
	page, err := s.API.ListActions(ctx, &workflow.ListActionsRequest{
		RunId: p.Action.Run.Proto(),
		Request: &common.ListRequest{Limit: 1, Filters: []*common.Filter{{
			Field: "phase", Function: common.Filter_EQUAL, Values: []string{strconv.Itoa(int(common.ActionPhase_ACTION_PHASE_PAUSED))},
		}}},
	})
	if err != nil {
		return 0, errors.Join(errors.New("count what is left"), err)
	}
	return len(page.GetActions()), nil
}
