package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureReads stores actions as runs of ten and one run with a tenth of all, and reads them. The tables are in memory.
func measureReads(stored, samples int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		c := storetest.DefaultConfig()
		c.Project, c.Domain = stack.Project, stack.Domain
		c.Wide = stored/10 - 1
		c.Runs = (stored - c.Wide - 1) / (1 + c.Children)
		began := time.Now()
		if err := seed(ctx, s, c); err != nil {
			return err
		}
		r.Add("filling the tables", time.Since(began).Seconds(), "s")
		reads := readCases(s, c)
		for _, read := range reads {
			n := samples
			if read.samples > 0 {
				n = min(n, read.samples)
			}
			taken := make([]time.Duration, 0, n)
			for i := range n + warmUps {
				began := time.Now()
				if err := read.do(ctx); err != nil {
					return fmt.Errorf("%s: %w", read.name, err)
				}
				if i >= warmUps {
					taken = append(taken, time.Since(began))
				}
			}
			r.Latency(read.name, taken)
		}
		return addMemory(s, r, "", true)
	}
}

// warmUps are calls before those that count.
const warmUps = 2

// seed stores synthetic actions in the database of the stack, past the server, which would take hours.
func seed(ctx context.Context, s *stack.Stack, c storetest.Config) error {
	pool, err := pgxpool.New(ctx, s.Postgres.DSN())
	if err != nil {
		return err
	}
	defer pool.Close()
	return storetest.Fill(ctx, pool, c)
}

// readCase is one request. samples bounds how often it is sent; 0 leaves that to the flag.
type readCase struct {
	name    string
	samples int
	do      func(context.Context) error
}

// readCases are the requests of lists and watches, on runs of a usual size and on the one wide run.
func readCases(s *stack.Stack, c storetest.Config) []readCase {
	newest := []*common.Sort{{Key: "created_at"}}
	small := ident.Run{Project: stack.Project, Domain: stack.Domain, Name: fmt.Sprintf("r%d", c.Runs/2)}
	wide := ident.Run{Project: stack.Project, Domain: stack.Domain, Name: "wide"}
	equal := func(field string, values ...string) *common.Filter {
		return &common.Filter{Function: common.Filter_EQUAL, Field: field, Values: values}
	}
	lists := func(request *common.ListRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := listRuns(ctx, s, request); return err }
	}
	var deep string // the token of a page deep in the list, once known
	behind := min(20_000, c.Runs/2)
	return []readCase{
		{"ListRuns default", 0, lists(&common.ListRequest{Limit: 50})},
		{"ListRuns newest first", 0, lists(&common.ListRequest{Limit: 50, SortByFields: newest})},
		{"ListRuns of 200", 0, lists(&common.ListRequest{Limit: 200, SortByFields: newest})},
		{"ListRuns failed, newest first", 0, lists(&common.ListRequest{
			Limit: 50, SortByFields: newest, Filters: []*common.Filter{equal("phase", "ACTION_PHASE_FAILED")},
		})},
		{"ListRuns of a task", 0, lists(&common.ListRequest{
			Limit: 50, SortByFields: newest, Filters: []*common.Filter{equal("task_name", "env.task-7")},
		})},
		{"ListRuns page after 20000 rows", 0, func(ctx context.Context) error {
			if deep == "" {
				var err error
				if deep, err = tokenAfter(ctx, s, behind, newest); err != nil {
					return err
				}
			}
			_, err := listRuns(ctx, s, &common.ListRequest{Limit: 50, SortByFields: newest, Token: deep})
			return err
		}},
		{"ListActions of a run of 10", 0, listActions(s, small, nil)},
		{"ListActions of the wide run", 0, listActions(s, wide, nil)},
		{"ListActions of the wide run, oldest first", 0, listActions(s, wide, []*common.Sort{{Key: "created_at", Direction: common.Sort_ASCENDING}})},
		{"WatchActions of a run of 10, snapshot", 0, watchActions(s, small, 1+c.Children)},
		{"WatchActions of the wide run, first", 20, watchActions(s, wide, 1)},
		{"WatchActions of the wide run, snapshot", 3, watchActions(s, wide, 1+c.Wide)},
	}
}

// listRuns reads a page. An empty one is a failure: it would be fast and mean nothing.
func listRuns(ctx context.Context, s *stack.Stack, request *common.ListRequest) (*workflow.ListRunsResponse, error) {
	page, err := s.API.ListRuns(ctx, &workflow.ListRunsRequest{
		Request: request,
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: stack.Project, Domain: stack.Domain}},
	})
	if err == nil && len(page.GetRuns()) == 0 {
		err = errors.New("no runs were listed")
	}
	return page, err
}

// tokenAfter pages through the runs and returns the token that follows this many rows.
func tokenAfter(ctx context.Context, s *stack.Stack, rows int, order []*common.Sort) (string, error) {
	token := ""
	for read := 0; read < rows; {
		page, err := listRuns(ctx, s, &common.ListRequest{Limit: uint32(min(rows-read, 200)), SortByFields: order, Token: token})
		if err != nil {
			return "", err
		}
		if read, token = read+len(page.GetRuns()), page.GetToken(); token == "" {
			return "", errors.New("there are fewer runs than were stored")
		}
	}
	return token, nil
}

func listActions(s *stack.Stack, run ident.Run, order []*common.Sort) func(context.Context) error {
	return func(ctx context.Context) error {
		page, err := s.API.ListActions(ctx, &workflow.ListActionsRequest{
			RunId: run.Proto(), Request: &common.ListRequest{Limit: 50, SortByFields: order},
		})
		if err == nil && len(page.GetActions()) == 0 {
			err = errors.New("no actions were listed")
		}
		return err
	}
}

// watchActions reads until this many actions have arrived.
func watchActions(s *stack.Stack, run ident.Run, actions int) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := s.API.WatchActions(ctx, &workflow.WatchActionsRequest{RunId: run.Proto()})
		if err != nil {
			return err
		}
		defer stream.Close() //nolint:errcheck // read as far as needed
		for got := 0; got < actions; {
			if !stream.Receive() {
				return fmt.Errorf("%d of %d actions arrived: %w", got, actions, stream.Err())
			}
			got += len(stream.Msg().GetEnrichedActions())
		}
		return nil
	}
}
