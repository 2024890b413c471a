package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// measureCacheHits fills the cache with the outputs of n children, then enqueues the same ones below another parent.
func measureCacheHits(n, concurrency int) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		if err := s.writeSleepInputs(); err != nil {
			return err
		}
		p, err := s.startFakeParent(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := each(n, concurrency, childName, func(name string) error { return s.enqueue(ctx, p.action, name, cached) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		last, err := p.awaitAll(ctx, n)
		if err != nil {
			return err
		}
		r.Add("looked up, run and published", float64(n)/last.Sub(began).Seconds(), "/s")
		if err := s.expectCacheStatus(ctx, p.action.Run, core.CatalogCacheStatus_CACHE_POPULATED); err != nil {
			return err
		}
		if err := p.finish(ctx); err != nil {
			return err
		}
		if err := measureFanOut(n, concurrency, cached)(ctx, s, r); err != nil {
			return err
		}
		return s.expectCacheStatus(ctx, ident.Run{Project: project, Domain: domain, Name: fmt.Sprintf("parent-%d", s.runs)}, core.CatalogCacheStatus_CACHE_HIT)
	}
}

// expectCacheStatus looks at the first child of a run.
func (s *stack) expectCacheStatus(ctx context.Context, run ident.Run, want core.CatalogCacheStatus) error {
	response, err := s.api.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: ident.Action{Run: run, Name: childName(0)}.Proto()})
	if err != nil {
		return fmt.Errorf("ask for the cache status: %w", err)
	}
	if got := response.GetDetails().GetStatus().GetCacheStatus(); got != want {
		return fmt.Errorf("a child's cache status is %s, not %s", got, want)
	}
	return nil
}
