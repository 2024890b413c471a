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
)

// measureReads stores actions as runs of ten and one run with a tenth of all, and reads them. The tables are in memory.
func measureReads(stored, samples int) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		c := storetest.DefaultConfig()
		c.Project, c.Domain = project, domain
		c.Wide = stored/10 - 1
		c.Runs = (stored - c.Wide - 1) / (1 + c.Children)
		began := time.Now()
		if err := s.seed(ctx, c); err != nil {
			return err
		}
		r.Add("filling the tables", time.Since(began).Seconds(), "s")
		reads := s.readCases(c)
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
		return s.addMemory(r, "", true)
	}
}

// warmUps are calls before those that count.
const warmUps = 2

func (s *stack) seed(ctx context.Context, c storetest.Config) error {
	pool, err := pgxpool.New(ctx, s.postgres.DSN())
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

func (s *stack) readCases(c storetest.Config) []readCase {
	newest := []*common.Sort{{Key: "created_at"}}
	small := ident.Run{Project: project, Domain: domain, Name: fmt.Sprintf("r%d", c.Runs/2)}
	wide := ident.Run{Project: project, Domain: domain, Name: "wide"}
	equal := func(field string, values ...string) *common.Filter {
		return &common.Filter{Function: common.Filter_EQUAL, Field: field, Values: values}
	}
	lists := func(request *common.ListRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := s.listRuns(ctx, request); return err }
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
				if deep, err = s.tokenAfter(ctx, behind, newest); err != nil {
					return err
				}
			}
			_, err := s.listRuns(ctx, &common.ListRequest{Limit: 50, SortByFields: newest, Token: deep})
			return err
		}},
		{"ListActions of a run of 10", 0, s.listActions(small, nil)},
		{"ListActions of the wide run", 0, s.listActions(wide, nil)},
		{"ListActions of the wide run, oldest first", 0, s.listActions(wide, []*common.Sort{{Key: "created_at", Direction: common.Sort_ASCENDING}})},
		{"WatchActions of a run of 10, snapshot", 0, s.watchActions(small, 1+c.Children)},
		{"WatchActions of the wide run, first", 20, s.watchActions(wide, 1)},
		{"WatchActions of the wide run, snapshot", 3, s.watchActions(wide, 1+c.Wide)},
	}
}

func (s *stack) listRuns(ctx context.Context, request *common.ListRequest) (*workflow.ListRunsResponse, error) {
	page, err := s.api.ListRuns(ctx, &workflow.ListRunsRequest{
		Request: request,
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: project, Domain: domain}},
	})
	if err == nil && len(page.GetRuns()) == 0 {
		err = errors.New("no runs were listed")
	}
	return page, err
}

// tokenAfter pages through the runs and returns the token that follows this many rows.
func (s *stack) tokenAfter(ctx context.Context, rows int, order []*common.Sort) (string, error) {
	token := ""
	for read := 0; read < rows; {
		page, err := s.listRuns(ctx, &common.ListRequest{Limit: uint32(min(rows-read, 200)), SortByFields: order, Token: token})
		if err != nil {
			return "", err
		}
		if read, token = read+len(page.GetRuns()), page.GetToken(); token == "" {
			return "", errors.New("there are fewer runs than were stored")
		}
	}
	return token, nil
}

func (s *stack) listActions(run ident.Run, order []*common.Sort) func(context.Context) error {
	return func(ctx context.Context) error {
		page, err := s.api.ListActions(ctx, &workflow.ListActionsRequest{
			RunId: run.Proto(), Request: &common.ListRequest{Limit: 50, SortByFields: order},
		})
		if err == nil && len(page.GetActions()) == 0 {
			err = errors.New("no actions were listed")
		}
		return err
	}
}

// watchActions reads until this many actions have arrived.
func (s *stack) watchActions(run ident.Run, actions int) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := s.api.WatchActions(ctx, &workflow.WatchActionsRequest{RunId: run.Proto()})
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
