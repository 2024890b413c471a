package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// measureFanOut enqueues n children of one parent, as fast as that many callers can.
func measureFanOut(n, concurrency int, k kind) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		if err := s.writeSleepInputs(); err != nil {
			return err
		}
		p, err := s.startFakeParent(ctx)
		if err != nil {
			return err
		}
		if err := s.resetPeaks(); err != nil {
			return err
		}
		before, err := s.cluster.requests(ctx)
		if err != nil {
			return err
		}
		usage, err := s.usage()
		if err != nil {
			return err
		}
		pods := s.node.startedPods()

		began := time.Now()
		taken, err := each(n, concurrency, childName, func(name string) error { return s.enqueue(ctx, p.action, name, k) })
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		enqueued := time.Since(began)
		last, err := p.awaitAll(ctx, n)
		if err != nil {
			return err
		}
		if err := s.settled(ctx, 1); err != nil {
			return err
		}
		gone := time.Now()
		used, err := s.usage()
		if err != nil {
			return err
		}
		after, err := s.cluster.requests(ctx)
		if err != nil {
			return err
		}

		r.Add("finished actions", float64(n)/last.Sub(began).Seconds(), "/s")
		r.Add("all ends seen after", last.Sub(began).Seconds(), "s")
		r.Add("nothing left after", gone.Sub(began).Seconds(), "s")
		r.Add("Enqueue", float64(n)/enqueued.Seconds(), "/s")
		r.Latency("Enqueue", taken)
		if k == withPod || k == withRetry {
			wanted := n
			if k == withRetry {
				wanted *= 2
			}
			r.Add("extra pods", float64(s.node.startedPods()-pods-wanted), "")
		}
		if k != asTrace {
			addWrites(r, after.since(before), n)
			addReads(r, after.reads(before), n)
		}
		used.since(usage).perAction(r, n)
		if err := s.addMemory(r, "", true); err != nil {
			return err
		}
		return p.finish(ctx)
	}
}

func childName(i int) string { return fmt.Sprintf("c%d", i) }

// settled waits until only this many TaskActions and their pods are left.
func (s *stack) settled(ctx context.Context, but int) error {
	for {
		left, err := s.cluster.taskActions(ctx)
		if err != nil {
			return err
		}
		if left <= but {
			return s.node.drained(ctx, but)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%d TaskActions are left over: %w", left-but, err)
		}
	}
}

// addWrites records the API server's writes for each of n actions. A pod takes three: its creation, its deletion and
// the node's status.
func addWrites(r *figures.Result, written requests, n int) {
	for _, key := range sortedKeys(written) {
		if written[key] >= float64(n)/20 {
			r.Add("API writes, "+key, written[key]/float64(n), "/action")
		}
	}
	r.Add("writes of TaskActions", written.of("taskactions")/float64(n), "/action")
	r.Add("writes of anything but pods", (written.sum()-written.of("pods"))/float64(n), "/action")
}

// addReads records the API server's reads for each of n actions, and the watches that were opened. Those of the client and the node
// are among them.
func addReads(r *figures.Result, read requests, n int) {
	for _, key := range sortedKeys(read) {
		if strings.HasPrefix(key, "WATCH ") {
			r.Add("API watches opened, "+strings.TrimPrefix(key, "WATCH "), read[key], "")
		} else {
			r.Add("API reads, "+key, read[key]/float64(n), "/action")
		}
	}
}

func sortedKeys(r requests) []string {
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
