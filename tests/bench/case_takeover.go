package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// takeoverRuns are created right after a replica was killed: some for each shard.
const takeoverRuns = 4 * ident.Shards

// takeOver kills a replica and creates runs. Those whose shard the replica owned wait until another one has taken it over.
func takeOver(s *stack.ReplicaSet, ctx context.Context, r *figures.Result) error {
	last := len(s.Members) - 1
	killed := s.Members[last]
	s.Members = s.Members[:last]
	s.Service.Remove(killed.Address)
	killed.Process.Kill()
	began := time.Now()

	s.Stack.Client.Close()
	s.Stack.Client = s.Service.Client(filepath.Join(s.Stack.Dir, "storage"))
	runs := make([]ident.Run, takeoverRuns)
	for i := range runs {
		runs[i] = newRun(s.Stack, "takeover")
		if _, err := createWithRetry(ctx, s.Stack.Client, runs[i]); err != nil {
			return fmt.Errorf("create a run after a replica was killed: %w", err)
		}
	}
	ends := make(chan error)
	done := make([]time.Duration, takeoverRuns)
	for i, run := range runs {
		go func() {
			err := awaitRun(s.Stack, ctx, run)
			done[i] = time.Since(began)
			ends <- err
		}()
	}
	var failure error
	for range runs {
		if err := <-ends; err != nil {
			failure = err
		}
	}
	if failure != nil {
		return fmt.Errorf("wait for the runs after a replica was killed: %w", failure)
	}
	slices.Sort(done)
	r.Add("kill -9 of one of three, runs created then: half done after", done[takeoverRuns/2].Seconds(), "s")
	r.Add("kill -9 of one of three, runs created then: all done after", done[takeoverRuns-1].Seconds(), "s")
	return nil
}
