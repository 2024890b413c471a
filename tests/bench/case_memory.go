package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// settleTime lets a process return memory that it no longer needs, unless -quiet is shorter.
const settleTime = 5 * time.Second

// measureMemory runs many actions under five parents, without pods so that it takes seconds instead of minutes.
func measureMemory(n, concurrency int, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := addMemory(s, r, "at the start", false); err != nil {
			return err
		}
		if err := resetPeaks(s); err != nil {
			return err
		}
		// Several parents, so that what the server keeps per run is among what must not grow.
		const parents = 5
		part := max(1, n/parents)
		began := time.Now()
		for i := range parents {
			p, err := stack.StartFakeParent(ctx, s)
			if err != nil {
				return err
			}
			if _, err := stack.Each(part, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.AsTrace) }); err != nil {
				return fmt.Errorf("enqueue: %w", err)
			}
			if _, err := p.AwaitAll(ctx, part); err != nil {
				return err
			}
			if err := p.Finish(ctx); err != nil {
				return err
			}
			if i == 0 || i == parents-1 {
				if err := addMemory(s, r, fmt.Sprintf("after %d actions", (i+1)*part), false); err != nil {
					return err
				}
			}
		}
		r.Add("done", float64(parents*part)/time.Since(began).Seconds(), "actions/s")
		settle := min(settleTime, quiet)
		if err := stack.Pause(ctx, settle); err != nil {
			return err
		}
		return addMemory(s, r, fmt.Sprintf("%s later", settle), true)
	}
}

// addMemory records the memory of server and API server, and their peaks on request.
func addMemory(s *stack.Stack, r *figures.Result, when string, peaks bool) error {
	if when != "" {
		when = ", " + when
	}
	for _, p := range []struct {
		name string
		pid  int
	}{{stack.ServerName, s.Server.Pid()}, {stack.ApiserverName, s.Cluster.Apiserver.Pid()}} {
		now, peak, err := figures.MemoryOf(p.pid)
		if err != nil {
			return err
		}
		r.Add("memory of the "+p.name+when, now, "MiB")
		if peaks {
			r.Add("peak memory of the "+p.name+when, peak, "MiB")
		}
	}
	return nil
}

// resetPeaks begins the measurement of peak memory again: the start of a process uses more than the case may.
func resetPeaks(s *stack.Stack) error {
	return errors.Join(figures.ResetPeak(s.Server.Pid()), figures.ResetPeak(s.Cluster.Apiserver.Pid()))
}
