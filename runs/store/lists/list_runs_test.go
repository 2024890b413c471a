package lists_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

var listStart = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

// root returns the succeeded run number n, created n minutes after the start.
func root(n int, change func(*schema.Root)) schema.Root {
	id := int64(1000 + n)
	created := listStart.Add(time.Duration(n) * time.Minute)
	ended := created.Add(1500 * time.Millisecond)
	row := schema.Root{}
	row.ID, row.RunID, row.Project, row.Domain, row.RunName, row.Name = id, id, "p", "d", fmt.Sprintf("run%02d", n), "a0"
	row.ActionType, row.Phase, row.CreatedAt, row.EndedAt, row.UpdatedAt = 1, 5, created, &ended, ended
	row.TaskProject, row.TaskDomain, row.TaskName, row.TaskVersion = "p", "d", "env.main", "v1"
	if change != nil {
		change(&row)
	}
	return row
}

func insertRoots(t *testing.T, pool *pgxpool.Pool, count int, change func(int, *schema.Root)) {
	t.Helper()
	rows := make([]schema.Root, 0, count)
	for n := range count {
		rows = append(rows, root(n, func(r *schema.Root) { change(n, r) }))
	}
	require.NoError(t, storetest.Insert(t.Context(), pool, rows...))
}

func filter(function common.Filter_Function, field string, values ...string) *common.Filter {
	return &common.Filter{Function: function, Field: field, Values: values}
}

func runNames(rows []lists.Listed) string {
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		names = append(names, strings.TrimPrefix(row.RunName, "run"))
	}
	return strings.Join(names, " ")
}

func TestListRunsFilters(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, 8, func(n int, r *schema.Root) {
		switch n {
		case 0:
			r.Phase, r.TaskName, r.Cluster = 6, "env.100%_sure", "default"
		case 1:
			r.Phase, r.EndedAt, r.CreatedBySubject = 4, nil, "ann"
		case 2:
			r.Phase, r.Labels = 10, map[string]string{"team": "ml", "env": "prod"}
		case 3:
			r.Labels, r.TaskVersion, r.Cluster = map[string]string{"team": "ops"}, "v2", "east"
		case 4:
			r.PausedCount, r.Phase, r.EndedAt = 1, 4, nil
		case 5:
			r.TriggerName, r.TriggerTaskName, r.Source = "nightly", "env.main", 3
		case 6:
			r.Domain, r.Cluster = "other", "east"
		case 7:
			r.Project, r.Labels = "q", map[string]string{"team": ""}
		}
	})
	reader := lists.NewReader(pool)
	at := func(n int) string {
		return listStart.Add(time.Duration(n) * time.Minute).Format("2006-01-02T15:04:05-07:00")
	}
	here := lists.RunScope{Project: "p", Domain: "d"}
	for _, test := range []struct {
		name    string
		scope   lists.RunScope
		filters []*common.Filter
		want    string
	}{
		{"everywhere", lists.RunScope{}, nil, "07 06 05 04 03 02 01 00"},
		{"a project", here, nil, "05 04 03 02 01 00"},
		{"a task", lists.RunScope{Project: "p", Domain: "d", TaskName: "env.100%_sure"}, nil, "00"},
		{"a version", lists.RunScope{Project: "p", Domain: "d", TaskName: "env.main", TaskVersion: "v2"}, nil, "03"},
		{"a trigger", lists.RunScope{Project: "p", Domain: "d", TriggerName: "nightly", TriggerTaskName: "env.main"}, nil, "05"},
		{"paused", lists.RunScope{Project: "p", Domain: "d", PausedOnly: true}, nil, "04"},
		{"phase", here, []*common.Filter{filter(common.Filter_EQUAL, "phase", "6")}, "00"},
		{"phase as characters", here, []*common.Filter{filter(common.Filter_EQUAL, "phase", "1", "0")}, "02"},
		{"one phase in", here, []*common.Filter{filter(common.Filter_VALUE_IN, "phase", "6")}, "00"},
		{"phases in", here, []*common.Filter{filter(common.Filter_VALUE_IN, "phase", "4", "6")}, "04 01 00"},
		{"phases not in", here, []*common.Filter{filter(common.Filter_VALUE_NOT_IN, "phase", "5", "6")}, "04 02 01"},
		{"owner", here, []*common.Filter{filter(common.Filter_EQUAL, "created_by", "ann")}, "01"},
		{"like is escaped", here, []*common.Filter{filter(common.Filter_CONTAINS, "task_name", "0%_s")}, "00"},
		{"a wildcard is text", here, []*common.Filter{filter(common.Filter_CONTAINS, "task_name", "e%m")}, ""},
		{"case", here, []*common.Filter{filter(common.Filter_CONTAINS_CASE_INSENSITIVE, "task_name", "SURE")}, "00"},
		{"suffix", here, []*common.Filter{filter(common.Filter_ENDS_WITH, "name", "3")}, "03"},
		{"no suffix", here, []*common.Filter{filter(common.Filter_NOT_ENDS_WITH, "name", "3")}, "05 04 02 01 00"},
		{"created", here, []*common.Filter{filter(common.Filter_GREATER_THAN_OR_EQUAL, "created_at", at(2)), filter(common.Filter_LESS_THAN, "created_at", at(4))}, "03 02"},
		{"updated", here, []*common.Filter{filter(common.Filter_GREATER_THAN_OR_EQUAL, "updated_at", at(4))}, "05 04"},
		{"updated before", here, []*common.Filter{filter(common.Filter_LESS_THAN, "updated_at", at(1))}, "00"},
		{"label", here, []*common.Filter{filter(common.Filter_EQUAL, "labels.team", "ml")}, "02"},
		{"two labels", here, []*common.Filter{filter(common.Filter_EQUAL, "labels.team", "ml"), filter(common.Filter_EQUAL, "labels.env", "dev")}, ""},
		{"label key", here, []*common.Filter{filter(common.Filter_EXISTS, "labels.team")}, "03 02"},
		{"no label key", here, []*common.Filter{filter(common.Filter_NOT_EXISTS, "labels.team")}, "05 04 01 00"},
		{"other label", here, []*common.Filter{filter(common.Filter_NOT_EQUAL, "labels.team", "ml")}, "05 04 03 01 00"},
		{"labels in", here, []*common.Filter{filter(common.Filter_VALUE_IN, "labels.team", "ml", "ops")}, "03 02"},
		{"labels not in", here, []*common.Filter{filter(common.Filter_VALUE_NOT_IN, "labels.team", "ml", "ops")}, "05 04 01 00"},
		{"label contains", here, []*common.Filter{filter(common.Filter_CONTAINS_CASE_INSENSITIVE, "labels.team", "OP")}, "03"},
		{"label has no suffix", here, []*common.Filter{filter(common.Filter_NOT_ENDS_WITH, "labels.team", "l")}, "05 04 03 01 00"},
		{"empty label", lists.RunScope{}, []*common.Filter{filter(common.Filter_EQUAL, "labels.team", "")}, "07"},
		{"unfinished", here, []*common.Filter{filter(common.Filter_NOT_EXISTS, "ended_at")}, "04 01"},
		{"duration", here, []*common.Filter{filter(common.Filter_EQUAL, "duration_ms", "1500")}, "05 03 02 00"},
		{"cluster", here, []*common.Filter{filter(common.Filter_EQUAL, "cluster", "east")}, "03"},
		{"the default cluster", here, []*common.Filter{filter(common.Filter_EQUAL, "cluster", "default")}, "00"},
		{"clusters", here, []*common.Filter{filter(common.Filter_VALUE_IN, "cluster", "east", "default")}, "03 00"},
		{"another cluster", here, []*common.Filter{filter(common.Filter_EQUAL, "cluster", "west")}, ""},
		{"a cluster of all projects", lists.RunScope{}, []*common.Filter{filter(common.Filter_EQUAL, "cluster", "east")}, "06 03"},
		{"not a cluster", here, []*common.Filter{filter(common.Filter_NOT_EQUAL, "cluster", "east")}, "05 04 02 01 00"},
		{"source", here, []*common.Filter{filter(common.Filter_EQUAL, "run_source", "schedule_trigger")}, "05"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rows, token, err := reader.ListRuns(t.Context(), test.scope, &common.ListRequest{Filters: test.filters})
			require.NoError(t, err)
			require.Empty(t, token)
			require.Equal(t, test.want, runNames(rows))
			ascending := &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING}
			back, _, err := reader.ListRuns(t.Context(), test.scope, &common.ListRequest{Filters: test.filters, SortBy: ascending})
			require.NoError(t, err)
			slices.Reverse(back)
			require.Equal(t, test.want, runNames(back), "in the other order")
		})
	}
}

// TestListedRun checks the columns of a listed run: everything clients show is there.
func TestListedRun(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	want := root(1, func(r *schema.Root) {
		r.Labels = map[string]string{"a": "b"}
		r.TaskType, r.ShortName, r.FunctionName, r.EnvironmentName = "python", "main", "main", "env"
		r.CreatedBy, r.CreatedBySubject, r.Relation, r.RecoveredFrom = []byte{1}, "ann", []byte{2}, []byte{3}
		r.Source, r.TriggerName, r.TriggerTaskName, r.CacheStatus, r.Attempt = 2, "t", "tt", 3, 4
		r.StartedAt = &r.CreatedAt
	})
	require.NoError(t, storetest.Insert(t.Context(), pool, want))
	rows, _, err := lists.NewReader(pool).ListRuns(t.Context(), lists.RunScope{}, nil)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, want.Labels, rows[0].Labels)
	for _, at := range []*time.Time{&rows[0].CreatedAt, &rows[0].UpdatedAt, rows[0].EndedAt, rows[0].StartedAt} {
		*at = at.UTC()
	}
	require.Equal(t, want.Action, rows[0].Action)
}

// TestEveryFieldAndFunction applies every function to every field: each either works or is refused by name.
//
// Story R29: a filter with one value failed in SQL, and pages skipped rows.
func TestEveryFieldAndFunction(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, 2, func(int, *schema.Root) {})
	reader := lists.NewReader(pool)
	fields := []string{
		"id", "project", "domain", "run_name", "name", "parent_name", "group", "phase", "action_type", "attempts",
		"created_by", "created_by_subject", "task_project", "task_domain", "task_name", "task_version", "task_type", "short_name",
		"function_name", "environment_name", "created_at", "updated_at", "started_at", "ended_at", "duration_ms", "source", "run_source",
		"trigger_name", "trigger_task_name", "trigger_revision", "labels.team",
	}
	worked := 0
	for _, field := range fields {
		for number := range common.Filter_Function_name {
			function := common.Filter_Function(number)
			for _, value := range []string{"7", "2026-01-02T03:04:05Z"} {
				var values []string
				if function != common.Filter_EXISTS && function != common.Filter_NOT_EXISTS {
					values = []string{value}
				}
				filters := []*common.Filter{filter(function, field, values...)}
				_, _, err := reader.ListRuns(t.Context(), lists.RunScope{}, &common.ListRequest{Filters: filters})
				if err == nil {
					worked++
					continue
				}
				require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), "%s %s: %s", function, field, err)
			}
		}
		if strings.HasPrefix(field, "labels.") {
			continue
		}
		for _, direction := range []common.Sort_Direction{common.Sort_ASCENDING, common.Sort_DESCENDING} {
			sort := []*common.Sort{{Key: field, Direction: direction}, {Key: "created_at"}}
			rows, token, err := reader.ListRuns(t.Context(), lists.RunScope{}, &common.ListRequest{Limit: 1, SortByFields: sort})
			require.NoError(t, err, field)
			next, last, err := reader.ListRuns(t.Context(), lists.RunScope{}, &common.ListRequest{Limit: 1, SortByFields: sort, Token: token})
			require.NoError(t, err, field)
			require.Empty(t, last)
			require.Len(t, next, 1)
			require.NotEqual(t, rows[0].ID, next[0].ID, field)
		}
	}
	require.Greater(t, worked, 300)
}
