package problems

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Problem is a group of failures.
type Problem struct {
	ID                  int64
	Scope               schema.Scope
	Code, Message       string
	At                  Place
	Failures, Runs      int64
	Tasks               []string
	FirstSeen, LastSeen time.Time
	RunName, Name       string // of the latest failure
	keys                []string
}

const columns = `p.id, p.project, p.domain, p.code, p.message, p.file, p.function, p.failures, p.runs, p.tasks, p.first_seen, p.last_seen, p.run_name, p.name`

func (p *Problem) targets() []any {
	return []any{
		&p.ID, &p.Scope.Project, &p.Scope.Domain, &p.Code, &p.Message, &p.At.File, &p.At.Function, &p.Failures, &p.Runs, &p.Tasks,
		&p.FirstSeen, &p.LastSeen, &p.RunName, &p.Name,
	}
}

// Order is an order of problems.
type Order string

// The orders, all descending.
const (
	ByLastSeen  Order = "last_seen"
	ByFirstSeen Order = "first_seen"
	ByFailures  Order = "failures"
)

var fields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":                {Expr: "p.id", Type: listquery.BigInt},
		string(ByLastSeen):  {Expr: "p.last_seen", Type: listquery.Time},
		string(ByFirstSeen): {Expr: "p.first_seen", Type: listquery.Time},
		string(ByFailures):  {Expr: "p.failures", Type: listquery.BigInt},
	},
	ID:           "id",
	DefaultLimit: 50,
	MaxLimit:     500,
}

// Filter says which problems to list.
type Filter struct {
	Scope schema.Scope
	Task  string    // empty for all
	Since time.Time // seen at or after; zero for all
	Order Order
	Limit uint32
	Token string
}

// List reads a page of problems, and the token of the next.
func (s *Store) List(ctx context.Context, filter Filter) (page []Problem, next string, err error) {
	b := listquery.Builder{}
	b.Equal("p.project", filter.Scope.Project)
	b.Equal("p.domain", filter.Scope.Domain)
	listquery.Narrow(ctx, &b, "p.project", "p.domain")
	if filter.Task != "" {
		b.Where(b.Arg(filter.Task, "text") + " = ANY(p.tasks)")
	}
	if !filter.Since.IsZero() {
		b.Where("p.last_seen >= " + b.Arg(filter.Since, "timestamptz"))
	}
	scope := []string{"problems", filter.Scope.Project, filter.Scope.Domain, filter.Task, filter.Since.UTC().Format(time.RFC3339Nano)}
	q, err := fields.Compile(b, scope, &common.ListRequest{
		Limit: filter.Limit, Token: filter.Token,
		SortByFields: []*common.Sort{{Key: string(filter.Order), Direction: common.Sort_DESCENDING}},
	})
	if err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, `SELECT `+columns+`, `+q.Keys()+` FROM problems p`+q.Tail(), append([]any{sqltext.Planned}, q.Args()...)...)
	if err != nil {
		return nil, "", fmt.Errorf("list problems: %w", err)
	}
	page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Problem, error) {
		var p Problem
		return p, row.Scan(append(p.targets(), &p.keys)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list problems: %w", err)
	}
	page, next = listquery.Page(q, page, func(p Problem) []string { return p.keys })
	return page, next, nil
}

// Get reads a problem of a place.
func (s *Store) Get(ctx context.Context, scope schema.Scope, id int64) (*Problem, error) {
	p, err := s.one(ctx, `SELECT `+columns+` FROM problems p WHERE p.id = $1 AND p.project = $2 AND p.domain = $3`, id, scope.Project, scope.Domain)
	if err == nil && p == nil {
		err = rpc.NotFound("project %s has no problem %d in domain %s", scope.Project, id, scope.Domain)
	}
	return p, err
}

// Of reads the problem to which the failure of an action belongs; nil if it is not counted.
func (s *Store) Of(ctx context.Context, action int64) (*Problem, error) {
	return s.one(ctx, `SELECT `+columns+` FROM problem_failures f JOIN problems p ON p.id = f.problem_id WHERE f.action_id = $1`, action)
}

func (s *Store) one(ctx context.Context, query string, args ...any) (*Problem, error) {
	var p Problem
	err := s.pool.QueryRow(ctx, query, args...).Scan(p.targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read a problem: %w", err)
	}
	return &p, nil
}

// Latest reads the latest failures of a problem, the latest first.
func (s *Store) Latest(ctx context.Context, id int64, limit int) ([]Failure, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.task_name, a.phase, f.failed_at
		FROM (SELECT * FROM problem_failures WHERE problem_id = $1 ORDER BY failed_at DESC, action_id DESC LIMIT $2) f
		JOIN actions a ON a.id = f.action_id ORDER BY f.failed_at DESC, f.action_id DESC`, id, limit)
	if err != nil {
		return nil, fmt.Errorf("read failures of a problem: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Failure, error) {
		var f Failure
		return f, row.Scan(&f.ID, &f.RunID, &f.Place.Project, &f.Place.Domain, &f.RunName, &f.Name, &f.Task, &f.Phase, &f.At)
	})
	if err != nil {
		return nil, fmt.Errorf("read failures of a problem: %w", err)
	}
	return found, nil
}

// Success is a run that succeeded.
type Success struct {
	Run   ident.Run
	Ended time.Time
}

// maxRuns bounds the runs among which the last success is looked for.
const maxRuns = 2000

// LastSuccess finds the latest run that succeeded of the task of a run; nil if none of the latest did.
func (s *Store) LastSuccess(ctx context.Context, run ident.Run) (*Success, error) {
	found := Success{Run: ident.Run{Project: run.Project, Domain: run.Domain}}
	err := s.pool.QueryRow(ctx, `
		SELECT run_name, ended_at FROM (
			SELECT a.run_name, a.ended_at, a.phase, a.created_at FROM actions a
			WHERE a.parent_name IS NULL AND a.project = $1 AND a.domain = $2 AND a.task_name = (
				SELECT r.task_name FROM actions r WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL)
			ORDER BY a.created_at DESC, a.id DESC LIMIT $4) latest
		WHERE phase IN `+sqltext.GoodPhases+` AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1`,
		run.Project, run.Domain, run.Name, maxRuns).Scan(&found.Run.Name, &found.Ended)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("find the last success: %w", err)
	}
	return &found, nil
}

// Failed reads an action that failed; nil if it did not.
func (s *Store) Failed(ctx context.Context, action ident.Action) (*Failure, error) {
	found, err := s.failures(ctx, `a.name = $5 AND a.run_id = (
		SELECT r.id FROM actions r WHERE r.project = $2 AND r.domain = $3 AND r.run_name = $4 AND r.parent_name IS NULL)`,
		action.Run.Project, action.Run.Domain, action.Run.Name, action.Name)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, rpc.NotFound("action %s does not exist", action)
	case found[0].Phase != state.Failed && found[0].Phase != state.TimedOut:
		return nil, nil //nolint:nilnil // it did not fail
	}
	return &found[0], nil
}

// OfRuns reads the failures of the root actions of runs; runs that did not fail are left out.
func (s *Store) OfRuns(ctx context.Context, scope schema.Scope, runs []string) ([]Failure, error) {
	return s.failures(ctx, `a.project = $2 AND a.domain = $3 AND a.run_name = ANY($4) AND a.parent_name IS NULL AND a.phase IN `+sqltext.FailedPhases,
		scope.Project, scope.Domain, runs)
}

// Children reads failed children of an action, a limited number of them.
func (s *Store) Children(ctx context.Context, parent *Failure) ([]Failure, error) {
	return s.failures(ctx, `a.run_id = $2 AND a.parent_name = $3 AND a.phase IN `+sqltext.FailedPhases, parent.RunID, parent.Name)
}

func (s *Store) failures(ctx context.Context, condition string, args ...any) ([]Failure, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT a.id, a.run_id, a.project, a.domain, a.run_name, a.name, coalesce(nullif(a.task_name, ''), a.name), a.phase, coalesce(a.ended_at, a.updated_at),
			substring(a.error FOR $1)
		FROM actions a WHERE `+condition+fmt.Sprintf(` LIMIT %d`, maxChildren),
		append([]any{readBytes}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("read failures: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Failure, error) {
		var f Failure
		return f, row.Scan(&f.ID, &f.RunID, &f.Place.Project, &f.Place.Domain, &f.RunName, &f.Name, &f.Task, &f.Phase, &f.At, &f.Error)
	})
	if err != nil {
		return nil, fmt.Errorf("read failures: %w", err)
	}
	return found, nil
}
