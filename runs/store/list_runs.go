package store

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/list"
)

// RunScope says whose runs are listed. Empty fields do not restrict.
type RunScope struct {
	Project, Domain string
	// TaskName and TaskVersion restrict to runs of one task.
	TaskName, TaskVersion string
	// TriggerName and TriggerTaskName restrict to runs that one trigger started.
	TriggerName, TriggerTaskName string
	// PausedOnly restricts to runs that have an action in phase PAUSED.
	PausedOnly bool
}

func (s RunScope) columns() [][2]string {
	return [][2]string{
		{"project", s.Project}, {"domain", s.Domain},
		{"task_name", s.TaskName}, {"task_version", s.TaskVersion},
		{"trigger_name", s.TriggerName}, {"trigger_task_name", s.TriggerTaskName},
	}
}

// ListRuns reads a page of runs, by default newest first, and the token of the next page.
func (r *Reader) ListRuns(ctx context.Context, scope RunScope, request *common.ListRequest) ([]Listed, string, error) {
	b, tokenScope := scope.conditions()
	q, err := runFields.Compile(*b, tokenScope, request)
	if err != nil {
		return nil, "", err
	}
	if walkFirst(request.GetFilters()) {
		walking := *q // with parameters of its own
		rows, token, err := r.selectRuns(ctx, &walking, scope.walk(&walking))
		if err != nil || token != "" {
			return rows, token, err
		}
	}
	source, err := r.updatedSource(ctx, scope, q, request)
	if err != nil {
		return nil, "", err
	}
	return r.selectRuns(ctx, q, source)
}

func (r *Reader) selectRuns(ctx context.Context, q *list.Query, source string) ([]Listed, string, error) {
	sql := `SELECT ` + listedColumns + `, a.labels, ` + q.Keys() + ` FROM ` + source + ` a` + q.Tail()
	return r.listed(ctx, q, sql, func(l *Listed) any { return &l.Labels })
}

func (s RunScope) conditions() (*list.Builder, []string) {
	return s.conditionsAfter(&list.Builder{})
}

// conditionsAfter numbers its parameters after those of another builder.
func (s RunScope) conditionsAfter(other *list.Builder) (*list.Builder, []string) {
	b := &list.Builder{}
	b.Continue(other)
	names := []string{"runs"}
	b.Where("a.parent_name IS NULL")
	for _, column := range s.columns() {
		if column[1] != "" {
			b.Equal("a."+column[0], column[1])
		}
		names = append(names, column[1])
	}
	if s.PausedOnly {
		b.Where("a.paused_count > 0")
		names = append(names, "paused")
	}
	return b, names
}
