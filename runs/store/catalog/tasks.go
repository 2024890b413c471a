package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const taskColumns = `t.project, t.domain, t.name, t.version, t.environment_name, t.function_name, t.short_name, t.task_type,
	t.is_entrypoint, t.short_description, t.env_description, t.deployed_by, t.deployed_by_subject, t.created_at`

func taskTargets(t *Task) []any {
	return []any{
		&t.Project, &t.Domain, &t.Name, &t.Version, &t.EnvironmentName, &t.FunctionName, &t.ShortName, &t.TaskType,
		&t.IsEntrypoint, &t.ShortDescription, &t.EnvDescription, &t.DeployedBy, &t.DeployedBySubject, &t.CreatedAt,
	}
}

// taskFields are the fields by which clients filter and sort tasks.
var taskFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":                {Expr: "t.id", Type: listquery.BigInt},
		"project":           {Expr: "t.project", Type: listquery.Text},
		"domain":            {Expr: "t.domain", Type: listquery.Text},
		"name":              {Expr: "t.name", Type: listquery.Text},
		"version":           {Expr: "t.version", Type: listquery.Text},
		"environment":       {Expr: "t.environment_name", Type: listquery.Text},
		"environment_name":  {Expr: "t.environment_name", Type: listquery.Text},
		"function_name":     {Expr: "t.function_name", Type: listquery.Text},
		"short_name":        {Expr: "t.short_name", Type: listquery.Text},
		"task_type":         {Expr: "t.task_type", Type: listquery.Text},
		"deployed_by":       {Expr: "t.deployed_by_subject", Type: listquery.Text},
		"is_entrypoint":     {Expr: "t.is_entrypoint", Type: listquery.Bool},
		"short_description": {Expr: "t.short_description", Type: listquery.Text},
		"env_description":   {Expr: "t.env_description", Type: listquery.Text},
		"created_at":        {Expr: "t.created_at", Type: listquery.Time},
		"deployed_at":       {Expr: "t.created_at", Type: listquery.Time},
		"updated_at":        {Expr: "t.updated_at", Type: listquery.Time},
	},
	ID:      "id",
	Default: []listquery.Order{{Field: "created_at", Desc: true}},
	Prefix:  "request.",
}

// TaskScope says which tasks are listed. Empty and nil fields do not restrict.
type TaskScope struct {
	Project, Domain string
	DeployedBy      *string
	IsEntrypoint    *bool
}

// LatestRun is the newest run of a task.
type LatestRun struct {
	Project, Domain, Name string
	CreatedAt             time.Time
	Phase                 int16
}

// ListedTask is a task as lists show it.
type ListedTask struct {
	Task
	LatestRun *LatestRun
	keys      []string
}

// TaskPage is a page of tasks.
type TaskPage struct {
	Tasks []ListedTask
	// Token is the token of the next page; empty on the last.
	Token string
	// Total counts the tasks of the scope's project, Filtered those of the whole filtered list.
	Total, Filtered int64
}

// TaskReader serves lists and details of tasks.
type TaskReader struct{ pool *pgxpool.Pool }

// NewTaskReader returns a reader on a pool that the caller owns.
func NewTaskReader(pool *pgxpool.Pool) *TaskReader { return &TaskReader{pool: pool} }

// ListTasks reads a page of the latest versions of tasks, by default newest first.
func (r *TaskReader) ListTasks(ctx context.Context, scope TaskScope, request *common.ListRequest) (*TaskPage, error) {
	b, tokenScope := scope.conditions()
	listquery.Narrow(ctx, b, "t.project", "t.domain")
	total := *b
	if scope.DeployedBy != nil {
		b.Equal("t.deployed_by_subject", *scope.DeployedBy)
		tokenScope = append(tokenScope, "deployed_by", *scope.DeployedBy)
	}
	if scope.IsEntrypoint != nil {
		b.Where("t.is_entrypoint = " + b.Arg(*scope.IsEntrypoint, "boolean"))
		tokenScope = append(tokenScope, "is_entrypoint", fmt.Sprint(*scope.IsEntrypoint))
	}
	q, err := taskFields.Compile(*b, tokenScope, request)
	if err != nil {
		return nil, err
	}
	page := &TaskPage{}
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if err := countTasks(ctx, tx, &total, &page.Total); err != nil {
			return err
		}
		if err := countTasks(ctx, tx, q.Unpaged(), &page.Filtered); err != nil {
			return err
		}
		return readTasks(ctx, tx, q, page)
	})
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

func (s TaskScope) conditions() (*listquery.Builder, []string) {
	b := &listquery.Builder{}
	b.Where("t.is_latest")
	if s.Project != "" {
		b.Equal("t.project", s.Project)
	}
	if s.Domain != "" {
		b.Equal("t.domain", s.Domain)
	}
	return b, []string{"tasks", s.Project, s.Domain}
}

func countTasks(ctx context.Context, tx pgx.Tx, b *listquery.Builder, count *int64) error {
	return tx.QueryRow(ctx, `SELECT count(*) FROM tasks t WHERE `+b.Conditions(), append([]any{sqltext.Planned}, b.Args()...)...).Scan(count)
}

func readTasks(ctx context.Context, tx pgx.Tx, q *listquery.Query, page *TaskPage) error {
	sql := `
		SELECT page.*, a.project, a.domain, a.run_name, a.created_at, a.phase
		FROM (SELECT ` + taskColumns + `, ` + q.Keys() + ` AS keys, row_number() OVER (ORDER BY ` + q.OrderBy() + `) AS place
			FROM tasks t` + q.Tail() + `) page
		LEFT JOIN LATERAL (
			SELECT project, domain, run_name, created_at, phase FROM actions
			WHERE parent_name IS NULL AND project = page.project AND domain = page.domain AND task_name = page.name
			ORDER BY created_at DESC, id DESC LIMIT 1) a ON true
		ORDER BY page.place`
	rows, err := tx.Query(ctx, sql, append([]any{sqltext.Planned}, q.Args()...)...)
	if err != nil {
		return err
	}
	tasks, err := pgx.CollectRows(rows, scanListedTask)
	page.Tasks, page.Token = listquery.Page(q, tasks, func(t ListedTask) []string { return t.keys })
	return err
}

func scanListedTask(row pgx.CollectableRow) (ListedTask, error) {
	var t ListedTask
	var place int64
	var project, domain, name *string
	var createdAt *time.Time
	var phase *int16
	err := row.Scan(append(taskTargets(&t.Task), &t.keys, &place, &project, &domain, &name, &createdAt, &phase)...)
	if err == nil && name != nil {
		t.LatestRun = &LatestRun{Project: *project, Domain: *domain, Name: *name, CreatedAt: *createdAt, Phase: *phase}
	}
	return t, err
}

// TaskDetails reads a version of a task with its encoded task.TaskSpec. It returns NotFound when the version does not
// exist.
func (r *TaskReader) TaskDetails(ctx context.Context, project, domain, name, version string) (*Task, []byte, error) {
	const query = `SELECT ` + taskColumns + `, s.body FROM tasks t JOIN specs s ON s.digest = t.spec_digest
		WHERE t.project = $1 AND t.domain = $2 AND t.name = $3 AND t.version = $4`
	var t Task
	var spec []byte
	err := r.pool.QueryRow(ctx, query, project, domain, name, version).Scan(append(taskTargets(&t), &spec)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, rpc.NotFound("task %s version %s does not exist in %s/%s", name, version, project, domain)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read task %s: %w", name, err)
	}
	return &t, spec, nil
}

// ListVersions reads a page of the versions of one task, by default newest first, and the token of the next page.
func (r *TaskReader) ListVersions(ctx context.Context, project, domain, name string, request *common.ListRequest) ([]ListedTask, string, error) {
	var b listquery.Builder
	b.Equal("t.project", project)
	b.Equal("t.domain", domain)
	b.Equal("t.name", name)
	q, err := taskFields.Compile(b, []string{"versions", project, domain, name}, request)
	if err != nil {
		return nil, "", err
	}
	sql := `SELECT ` + taskColumns + `, ` + q.Keys() + ` FROM tasks t` + q.Tail()
	rows, err := r.pool.Query(ctx, sql, append([]any{sqltext.Planned}, q.Args()...)...)
	if err != nil {
		return nil, "", fmt.Errorf("list versions of task %s: %w", name, err)
	}
	versions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ListedTask, error) {
		var t ListedTask
		return t, row.Scan(append(taskTargets(&t.Task), &t.keys)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list versions of task %s: %w", name, err)
	}
	versions, token := listquery.Page(q, versions, func(t ListedTask) []string { return t.keys })
	return versions, token, nil
}
