package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureRestart starts a server on a database with many live actions, none of which has a TaskAction: the most that
// the owner of TaskActions can have to compare and create.
func measureRestart(live int, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		const place = "staging" // used by nothing else: the reads have a run of that name too
		c := storetest.DefaultConfig()
		c.Project, c.Domain, c.Runs, c.Wide, c.LiveWide = stack.Project, place, 0, live-1, true
		if err := seed(ctx, s, c); err != nil {
			return err
		}
		if err := s.RestartServer(ctx, r); err != nil {
			return err
		}
		if err := addMemory(s, r, "when ready", false); err != nil {
			return err
		}
		settle := min(settleTime, quiet)
		if err := stack.Pause(ctx, settle); err != nil {
			return err
		}
		if err := addMemory(s, r, fmt.Sprintf("%s later", settle), true); err != nil {
			return err
		}
		wide := ident.Run{Project: stack.Project, Domain: place, Name: "wide"}
		began := time.Now()
		_, err := s.API.AbortRun(ctx, &workflow.AbortRunRequest{RunId: wide.Proto()})
		r.Add("abort of all of them", time.Since(began).Seconds(), "s")
		return err
	}
}
