package watches

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// RunTarget says which runs a watch covers. Empty fields match everything; Domain requires Project, the task fields
// require both.
type RunTarget struct {
	Project, Domain       string
	TaskName, TaskVersion string
}

// Matches reports whether a run belongs to the target.
func (t RunTarget) Matches(root *schema.Action) bool {
	return (t.Project == "" || t.Project == root.Project && t.Domain == root.Domain) &&
		(t.TaskName == "" || t.TaskName == root.TaskName) &&
		(t.TaskVersion == "" || t.TaskVersion == root.TaskVersion)
}

// where returns the target as a condition and appends its arguments to args.
func (t RunTarget) where(args []any) (string, []any) {
	conditions := []string{"a.parent_name IS NULL"}
	add := func(column, value string) {
		if value != "" {
			args = append(args, value)
			conditions = append(conditions, fmt.Sprintf("a.%s = $%d", column, len(args)))
		}
	}
	add("project", t.Project)
	add("domain", t.Domain)
	add("task_name", t.TaskName)
	add("task_version", t.TaskVersion)
	return strings.Join(conditions, " AND "), args
}

// NewestRoots reads the newest runs of a target that the caller may see, newest first.
func (w *Reader) NewestRoots(ctx context.Context, target RunTarget, limit int) ([]*lists.Listed, error) {
	if !listquery.Sees(ctx, target.Project, target.Domain) {
		return w.newestWithin(ctx, target, limit)
	}
	where, args := target.where([]any{limit})
	return w.roots(ctx, `SELECT `+lists.ListedColumns+`, a.labels FROM actions a WHERE `+where+`
		ORDER BY a.created_at DESC, a.id DESC LIMIT $1`, args...)
}

// newestWithin is NewestRoots for a caller who may not see the whole target.
func (w *Reader) newestWithin(ctx context.Context, target RunTarget, limit int) ([]*lists.Listed, error) {
	if target.Project != "" {
		return nil, nil
	}
	if listquery.Wide(ctx) {
		where, args := target.where([]any{limit})
		within, args := sqltext.WithinScope(ctx, args)
		return w.roots(ctx, `SELECT `+lists.ListedColumns+`, a.labels FROM actions a WHERE `+where+within+`
			ORDER BY a.created_at DESC, a.id DESC LIMIT $1`, args...)
	}
	places, err := sqltext.RunPlaces(ctx, w.pool)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	var before, b listquery.Builder
	where, args := target.where(nil)
	for _, arg := range args {
		before.Arg(arg, "")
	}
	b.Continue(&before)
	const order = "a.created_at DESC, a.id DESC"
	source := sqltext.FirstOfPlaces(&b, places, sqltext.Listing{Conditions: where, Order: order, Columns: []string{"created_at"}, Limit: limit})
	return w.roots(ctx, `SELECT `+lists.ListedColumns+`, a.labels FROM `+source+` a
		ORDER BY `+order+` LIMIT `+strconv.Itoa(limit), b.Args()...)
}

// RootsByID reads runs by the ids of their root rows, in no particular order.
func (w *Reader) RootsByID(ctx context.Context, ids []int64) ([]*lists.Listed, error) {
	return w.roots(ctx, `SELECT `+lists.ListedColumns+`, a.labels FROM actions a
		WHERE a.id = ANY($1) AND a.parent_name IS NULL`, ids)
}

// UpdatedKey is a position in the order of a scope's runs by their last update.
type UpdatedKey struct {
	UpdatedAt time.Time
	ID        int64
}

// UpdatedRoots reads runs of a scope after a key, least recently updated first.
func (w *Reader) UpdatedRoots(ctx context.Context, scope schema.Scope, after UpdatedKey, limit int) ([]*lists.Listed, error) {
	return w.roots(ctx, `SELECT `+lists.ListedColumns+`, a.labels FROM actions a
		WHERE a.parent_name IS NULL AND a.project = $1 AND a.domain = $2 AND (a.updated_at, a.id) > ($3, $4)
		ORDER BY a.updated_at, a.id LIMIT $5`, scope.Project, scope.Domain, after.UpdatedAt, after.ID, limit)
}

// Scopes lists the projects and domains that have runs.
func (w *Reader) Scopes(ctx context.Context) ([]schema.Scope, error) {
	return sqltext.AllRunPlaces(ctx, w.pool)
}

func (w *Reader) roots(ctx context.Context, query string, args ...any) ([]*lists.Listed, error) {
	rows, err := w.pool.Query(ctx, query, sqltext.WithPlan(args)...)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	roots, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*lists.Listed, error) {
		l := &lists.Listed{}
		return l, row.Scan(append(lists.ListedTargets(&l.Action), &l.Labels)...)
	})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return roots, nil
}
