package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureFanOut enqueues n children of one parent, as fast as that many callers can.
func measureFanOut(n, concurrency int, k stack.Kind) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := s.WriteSleepInputs(); err != nil {
			return err
		}
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		withPods := k == stack.WithPod || k == stack.WithRetry
		limit, err := measureLimit(ctx, s, p, k, n, concurrency)
		if err != nil {
			return err
		}
		if err := resetPeaks(s); err != nil {
			return err
		}
		before, err := s.Cluster.Requests(ctx)
		if err != nil {
			return err
		}
		usage, err := s.Usage()
		if err != nil {
			return err
		}
		pods := s.Node.StartedPods()

		began := time.Now()
		taken, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, k) })
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		enqueued := time.Since(began)
		last, err := p.AwaitAll(ctx, n)
		if err != nil {
			return err
		}
		// The parent's own TaskAction stays until Finish.
		if err := settled(ctx, s, 1); err != nil {
			return err
		}
		gone := time.Now()
		used, err := s.Usage()
		if err != nil {
			return err
		}
		after, err := s.Cluster.Requests(ctx)
		if err != nil {
			return err
		}

		r.Add("finished actions", float64(n)/last.Sub(began).Seconds(), "/s")
		r.Add("all ends seen after", last.Sub(began).Seconds(), "s")
		r.Add("nothing left after", gone.Sub(began).Seconds(), "s")
		r.Add("Enqueue", float64(n)/enqueued.Seconds(), "/s")
		r.Latency("Enqueue", taken)
		if withPods {
			wanted := n
			if k == stack.WithRetry {
				// Each child's first attempt fails, so it has two pods.
				wanted *= 2
			}
			r.Add("extra pods", float64(s.Node.StartedPods()-pods-wanted), "")
		}
		if k != stack.AsTrace {
			addWrites(r, after.Since(before), n)
			addReads(r, after.Reads(before), n)
		}
		used.Since(usage).PerAction(r, n)
		if err := addMemory(s, r, "", true); err != nil {
			return err
		}
		again, err := measureLimit(ctx, s, p, k, n, concurrency)
		if err != nil {
			return err
		}
		limit.and(again).share(r, float64(n)/last.Sub(began).Seconds())
		return p.Finish(ctx)
	}
}

func childName(i int) string { return fmt.Sprintf("c%d", i) }

// settled waits until only this many TaskActions and their pods are left.
func settled(ctx context.Context, s *stack.Stack, but int) error {
	for {
		left, err := s.Cluster.TaskActions(ctx)
		if err != nil {
			return err
		}
		if left <= but {
			return s.Node.Drained(ctx, but)
		}
		if err := stack.Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%d TaskActions are left over: %w", left-but, err)
		}
	}
}

// addWrites records the API server's writes for each of n actions. A pod takes three: its creation, its deletion and
// the node's status.
func addWrites(r *figures.Result, written stack.Requests, n int) {
	for _, key := range sortedKeys(written) {
		// Rarer requests, such as renewals of leases, belong to no action.
		if written[key] >= float64(n)/20 {
			r.Add("API writes, "+key, written[key]/float64(n), "/action")
		}
	}
	r.Add("writes of TaskActions", written.Of("taskactions")/float64(n), "/action")
	r.Add("writes of anything but pods", (written.Sum()-written.Of("pods"))/float64(n), "/action")
}

// addReads records the API server's reads for each of n actions, and the watches that were opened. Those of the client and the node
// are among them.
func addReads(r *figures.Result, read stack.Requests, n int) {
	for _, key := range sortedKeys(read) {
		if strings.HasPrefix(key, "WATCH ") {
			r.Add("API watches opened, "+strings.TrimPrefix(key, "WATCH "), read[key], "")
		} else {
			r.Add("API reads, "+key, read[key]/float64(n), "/action")
		}
	}
}

// sortedKeys orders requests by resource, then by verb, so that a table of two runs has its rows side by side.
func sortedKeys(r stack.Requests) []string {
	keys := make([]string, 0, len(r))
	for key := range r {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		_, x, _ := strings.Cut(a, " ")
		_, y, _ := strings.Cut(b, " ")
		return strings.Compare(x+a, y+b)
	})
	return keys
}
