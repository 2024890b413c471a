package watches

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// GroupScope says which runs are summarized per task.
type GroupScope struct {
	schema.Scope
	From  time.Time  // created at or after
	Until *time.Time // created before; nil means no bound
	// Tasks restricts to tasks by full name; nil means all.
	Tasks []string
	// Filters restrict the runs, as in a list of runs.
	Filters []*common.Filter
}

// conditions adds the conditions of the scope to a statement on actions a.
func (s GroupScope) conditions(b *listquery.Builder) error {
	b.Where("a.parent_name IS NULL")
	b.Equal("a.project", s.Project)
	b.Equal("a.domain", s.Domain)
	b.Where("a.created_at >= " + b.Arg(s.From, "timestamptz"))
	if s.Until != nil {
		b.Where("a.created_at < " + b.Arg(*s.Until, "timestamptz"))
	}
	return lists.RunFields.Filter(b, s.Filters)
}

// TaskGroup summarizes the runs of one task.
type TaskGroup struct {
	TaskName         string
	EnvironmentName  string
	ShortName        string
	Total            int64
	LatestCreated    time.Time
	LatestEnded      *time.Time
	AverageDuration  *float64 // seconds from creation to end, of ended runs
	AverageTimeToRun *float64 // seconds from creation to the first RUNNING
	Phases           []int64  // number of runs by phase number
	Recent           []RecentRun
	NewestErrors     [][]byte // core.ExecutionError of the newest failures
}

// RecentRun is one of the newest runs of a task.
type RecentRun struct {
	Name      string
	Phase     int16
	CreatedBy []byte
}

const (
	groupRecentRuns = 25
	groupErrors     = 100
	phaseNumbers    = 11
)

// TaskGroups summarizes runs per task: the numbers from one pass over the scope's index range, then a few rows of
// each task from the index by task. It reads at most limit tasks, those with the newest runs first.
func (w *Reader) TaskGroups(ctx context.Context, scope GroupScope, limit int) ([]*TaskGroup, error) {
	groups, err := w.groupTotals(ctx, scope, limit)
	if err != nil || len(groups) == 0 {
		return groups, err
	}
	byName := make(map[string]*TaskGroup, len(groups))
	names := make([]string, 0, len(groups))
	for _, group := range groups {
		byName[group.TaskName] = group
		names = append(names, group.TaskName)
	}
	if err := w.groupRecent(ctx, scope, names, byName); err != nil {
		return nil, err
	}
	return groups, w.groupErrors(ctx, scope, names, byName)
}

func (w *Reader) groupTotals(ctx context.Context, scope GroupScope, limit int) ([]*TaskGroup, error) {
	var b listquery.Builder
	if err := scope.conditions(&b); err != nil {
		return nil, err
	}
	if scope.Tasks != nil {
		b.Where("a.task_name = ANY(" + b.Arg(scope.Tasks, "text[]") + ")")
	}
	counts := make([]string, phaseNumbers)
	for phase := range counts {
		counts[phase] = fmt.Sprintf("count(*) FILTER (WHERE a.phase = %d)", phase)
	}
	rows, err := w.pool.Query(ctx, `
		SELECT a.task_name, max(a.environment_name), max(a.short_name), count(*), max(a.created_at), max(a.ended_at),
			avg(extract(epoch FROM a.ended_at - a.created_at))::float8,
			avg(extract(epoch FROM a.started_at - a.created_at))::float8,
			array[`+strings.Join(counts, ", ")+`]
		FROM actions a WHERE `+b.Conditions()+`
		GROUP BY a.task_name ORDER BY max(a.created_at) DESC, a.task_name LIMIT `+strconv.Itoa(limit), sqltext.WithPlan(b.Args())...)
	if err != nil {
		return nil, fmt.Errorf("summarize runs: %w", err)
	}
	groups, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*TaskGroup, error) {
		g := &TaskGroup{}
		return g, row.Scan(&g.TaskName, &g.EnvironmentName, &g.ShortName, &g.Total, &g.LatestCreated, &g.LatestEnded,
			&g.AverageDuration, &g.AverageTimeToRun, &g.Phases)
	})
	if err != nil {
		return nil, fmt.Errorf("summarize runs: %w", err)
	}
	return groups, nil
}

// perTask runs a query for the newest rows of each task. The index by task yields a few rows for each.
func (w *Reader) perTask(ctx context.Context, scope GroupScope, names []string, columns, condition string, limit int) (pgx.Rows, error) {
	var b listquery.Builder
	tasks := b.Arg(names, "text[]")
	if err := scope.conditions(&b); err != nil {
		return nil, err
	}
	rows, err := w.pool.Query(ctx, `
		SELECT t.name, r.* FROM unnest(`+tasks+`) t(name), LATERAL (
			SELECT `+columns+` FROM actions a WHERE `+b.Conditions()+` AND a.task_name = t.name AND `+condition+`
			ORDER BY a.created_at DESC, a.id DESC LIMIT `+strconv.Itoa(limit)+`) r`, sqltext.WithPlan(b.Args())...)
	if err != nil {
		return nil, fmt.Errorf("read newest runs of tasks: %w", err)
	}
	return rows, nil
}

func (w *Reader) groupRecent(ctx context.Context, scope GroupScope, names []string, groups map[string]*TaskGroup) error {
	rows, err := w.perTask(ctx, scope, names, "a.run_name, a.phase, a.created_by", "true", groupRecentRuns)
	if err != nil {
		return err
	}
	var name string
	var run RecentRun
	_, err = pgx.ForEachRow(rows, []any{&name, &run.Name, &run.Phase, &run.CreatedBy}, func() error {
		groups[name].Recent = append(groups[name].Recent, run)
		run.CreatedBy = nil // the next scan must not overwrite it
		return nil
	})
	if err != nil {
		return fmt.Errorf("read newest runs of tasks: %w", err)
	}
	return nil
}

func (w *Reader) groupErrors(ctx context.Context, scope GroupScope, names []string, groups map[string]*TaskGroup) error {
	failing := make([]string, 0, len(names))
	for _, name := range names {
		if g := groups[name]; g.Phases[6]+g.Phases[8] > 0 {
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 {
		return nil
	}
	rows, err := w.perTask(ctx, scope, failing, "a.error", "a.phase IN "+sqltext.FailedPhases+" AND a.error IS NOT NULL", groupErrors)
	if err != nil {
		return err
	}
	var name string
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		groups[name].NewestErrors = append(groups[name].NewestErrors, body)
		body = nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("read newest failures of tasks: %w", err)
	}
	return nil
}
