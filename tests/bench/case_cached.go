package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureCacheHits fills the cache with the outputs of n children, then enqueues the same ones below another parent.
func measureCacheHits(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := s.WriteSleepInputs(); err != nil {
			return err
		}
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.Cached) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		last, err := p.AwaitAll(ctx, n)
		if err != nil {
			return err
		}
		r.Add("looked up, run and published", float64(n)/last.Sub(began).Seconds(), "/s")
		// Without these checks, a cache that never hits would only look slow.
		if err := expectCacheStatus(ctx, s, p.Action.Run, core.CatalogCacheStatus_CACHE_POPULATED); err != nil {
			return err
		}
		if err := p.Finish(ctx); err != nil {
			return err
		}
		if err := measureFanOut(n, concurrency, stack.Cached)(ctx, s, r); err != nil {
			return err
		}
		return expectCacheStatus(ctx, s, ident.Run{Project: stack.Project, Domain: stack.Domain, Name: fmt.Sprintf("parent-%d", s.Runs)}, core.CatalogCacheStatus_CACHE_HIT)
	}
}

// expectCacheStatus looks at the first child of a run.
func expectCacheStatus(ctx context.Context, s *stack.Stack, run ident.Run, want core.CatalogCacheStatus) error {
	response, err := s.API.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: ident.Action{Run: run, Name: childName(0)}.Proto()})
	if err != nil {
		return fmt.Errorf("ask for the cache status: %w", err)
	}
	if got := response.GetDetails().GetStatus().GetCacheStatus(); got != want {
		return fmt.Errorf("a child's cache status is %s, not %s", got, want)
	}
	return nil
}
