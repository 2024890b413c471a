package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// measureRestart starts a server on a database with many live actions, none of which has a TaskAction: the most that
// the owner of TaskActions can have to compare and create.
func measureRestart(live int, quiet time.Duration) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		const place = "staging" // used by nothing else: the reads have a run of that name too
		c := storetest.DefaultConfig()
		c.Project, c.Domain, c.Runs, c.Wide, c.LiveWide = project, place, 0, live-1, true
		if err := s.seed(ctx, c); err != nil {
			return err
		}
		if err := s.restartServer(ctx, r); err != nil {
			return err
		}
		if err := s.addMemory(r, "when ready", false); err != nil {
			return err
		}
		settle := min(settleTime, quiet)
		if err := pause(ctx, settle); err != nil {
			return err
		}
		if err := s.addMemory(r, fmt.Sprintf("%s later", settle), true); err != nil {
			return err
		}
		wide := ident.Run{Project: project, Domain: place, Name: "wide"}
		began := time.Now()
		_, err := s.api.AbortRun(ctx, &workflow.AbortRunRequest{RunId: wide.Proto()})
		r.Add("abort of all of them", time.Since(began).Seconds(), "s")
		return err
	}
}
