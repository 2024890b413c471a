package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureKill kills the server when half of the children of a fan-out have ended, starts it again at once, and waits for the rest.
func measureKill(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		if _, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.WithPod) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		if _, err := p.AwaitAll(ctx, n/2); err != nil {
			return err
		}
		// SIGKILL, and a start at once: the new server finds the lease of the old one still running out.
		s.Server.Kill()
		killed := time.Now()
		s.Client.Close()
		if err := s.StartServer(ctx); err != nil {
			return err
		}
		r.Add("ready after", time.Since(killed).Seconds(), "s")
		p.Close()
		if err := p.Open(ctx); err != nil {
			return err
		}
		before := p.Seen()
		r.Add("children left", float64(n-before), "")
		if _, err := p.AwaitAll(ctx, before+1); err != nil {
			return err
		}
		r.Add("next end seen after", time.Since(killed).Seconds(), "s")
		last, err := p.AwaitAll(ctx, n)
		if err != nil {
			return err
		}
		r.Add("all ends seen after", last.Sub(killed).Seconds(), "s")
		if err := p.Finish(ctx); err != nil {
			return err
		}
		r.Add("no pod left after", time.Since(killed).Seconds(), "s")
		return nil
	}
}
