package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// Scope says which triggers are listed. Empty fields do not restrict.
type Scope struct{ Project, Domain, TaskName, TaskVersion string }

// triggerFields are the fields by which clients filter and sort triggers.
var triggerFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":              {Expr: "t.id", Type: listquery.BigInt},
		"project":         {Expr: "t.project", Type: listquery.Text},
		"domain":          {Expr: "t.domain", Type: listquery.Text},
		"task_name":       {Expr: "t.task_name", Type: listquery.Text},
		"name":            {Expr: "t.name", Type: listquery.Text},
		"active":          {Expr: "t.active", Type: listquery.Bool},
		"task_version":    {Expr: "t.task_version", Type: listquery.Text},
		"description":     {Expr: "t.description", Type: listquery.Text},
		"revision":        {Expr: "t.revision", Type: listquery.BigInt},
		"deployed_at":     {Expr: "t.deployed_at", Type: listquery.Time},
		"created_at":      {Expr: "t.deployed_at", Type: listquery.Time},
		"updated_at":      {Expr: "t.updated_at", Type: listquery.Time},
		"triggered_at":    {Expr: "t.triggered_at", Type: listquery.Time, Nullable: true},
		"automation_type": {Expr: "t.automation_type", Type: listquery.Small, Names: automationTypes},
	},
	ID:      "id",
	Default: []listquery.Order{{Field: "active", Desc: true}, {Field: "updated_at", Desc: true}},
	Prefix:  "request.",
}

var automationTypes = map[string]int64{"type_none": 1, "none": 1, "type_schedule": 2, "schedule": 2, "type_artifact": 3, "artifact": 3}

// List reads a page of triggers that are not deleted, and the token of the next page. It is narrowed to the scope of the
// call.
func (s *Store) List(ctx context.Context, scope Scope, request *common.ListRequest) ([]*Trigger, string, error) {
	var b listquery.Builder
	b.Where("t.deleted_at IS NULL")
	for _, in := range []struct{ column, value string }{
		{"t.project", scope.Project}, {"t.domain", scope.Domain}, {"t.task_name", scope.TaskName}, {"t.task_version", scope.TaskVersion},
	} {
		if in.value != "" {
			b.Equal(in.column, in.value)
		}
	}
	listquery.Narrow(ctx, &b, "t.project", "t.domain")
	q, err := triggerFields.Compile(b, []string{"triggers", scope.Project, scope.Domain, scope.TaskName, scope.TaskVersion}, request)
	if err != nil {
		return nil, "", err
	}
	type listed struct {
		*Trigger
		keys []string
	}
	rows, err := s.pool.Query(ctx, `SELECT `+triggerColumns+`, `+q.Keys()+` FROM triggers t`+q.Tail(), q.Args()...)
	if err != nil {
		return nil, "", fmt.Errorf("list triggers: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (listed, error) {
		l := listed{Trigger: &Trigger{}}
		return l, row.Scan(append(l.targets(), &l.keys)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list triggers: %w", err)
	}
	page, token := listquery.Page(q, found, func(l listed) []string { return l.keys })
	triggers := make([]*Trigger, len(page))
	for i, l := range page {
		triggers[i] = l.Trigger
	}
	return triggers, token, nil
}

// Summary tells how many triggers a task has.
type Summary struct {
	Task
	Total, Active int64
	// Name and Automation are those of the trigger if there is one only.
	Name       string
	Automation []byte
}

// Summaries reads those of the tasks that have triggers.
func (s *Store) Summaries(ctx context.Context, tasks []Task) ([]Summary, error) {
	var projects, domains, names []string
	for _, task := range tasks {
		projects, domains, names = append(projects, task.Project), append(domains, task.Domain), append(names, task.Name)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT t.project, t.domain, t.task_name, count(*), count(*) FILTER (WHERE t.active), min(t.name), (array_agg(t.automation))[1]
		FROM triggers t JOIN (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[]) AS u(project, domain, task_name)) u
			USING (project, domain, task_name)
		WHERE t.deleted_at IS NULL GROUP BY t.project, t.domain, t.task_name`, projects, domains, names)
	if err != nil {
		return nil, fmt.Errorf("summarise triggers: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Summary, error) {
		var out Summary
		return out, row.Scan(&out.Project, &out.Domain, &out.Task.Name, &out.Total, &out.Active, &out.Name, &out.Automation)
	})
	if err != nil {
		return nil, fmt.Errorf("summarise triggers: %w", err)
	}
	return found, nil
}
