package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// settleTime lets a process return memory that it no longer needs, unless -quiet is shorter.
const settleTime = 5 * time.Second

// measureMemory runs many actions under five parents, without pods so that it takes seconds instead of minutes.
func measureMemory(n, concurrency int, quiet time.Duration) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		if err := s.addMemory(r, "at the start", false); err != nil {
			return err
		}
		if err := s.resetPeaks(); err != nil {
			return err
		}
		const parents = 5
		part := max(1, n/parents)
		began := time.Now()
		for i := range parents {
			p, err := s.startFakeParent(ctx)
			if err != nil {
				return err
			}
			if _, err := each(part, concurrency, childName, func(name string) error { return s.enqueue(ctx, p.action, name, asTrace) }); err != nil {
				return fmt.Errorf("enqueue: %w", err)
			}
			if _, err := p.awaitAll(ctx, part); err != nil {
				return err
			}
			if err := p.finish(ctx); err != nil {
				return err
			}
			if i == 0 || i == parents-1 {
				if err := s.addMemory(r, fmt.Sprintf("after %d actions", (i+1)*part), false); err != nil {
					return err
				}
			}
		}
		r.Add("done", float64(parents*part)/time.Since(began).Seconds(), "actions/s")
		settle := min(settleTime, quiet)
		if err := pause(ctx, settle); err != nil {
			return err
		}
		return s.addMemory(r, fmt.Sprintf("%s later", settle), true)
	}
}

// addMemory records the memory of server and API server, and their peaks on request.
func (s *stack) addMemory(r *figures.Result, when string, peaks bool) error {
	if when != "" {
		when = ", " + when
	}
	for _, p := range []struct {
		name string
		pid  int
	}{{serverName, s.server.Pid()}, {apiserverName, s.cluster.apiserver.Pid()}} {
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

func (s *stack) resetPeaks() error {
	return errors.Join(figures.ResetPeak(s.server.Pid()), figures.ResetPeak(s.cluster.apiserver.Pid()))
}
