package lists

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Listed is an action as lists show it: a row without the columns that only details need.
type Listed struct {
	schema.Action
	// Labels are the labels of the run; set only on roots.
	Labels map[string]string
	// Condition is the encoded workflow.ConditionAction of a condition in a list of actions.
	Condition []byte
	keys      []string
}

// ListedColumns are the narrow columns of a list, in the order of ListedTargets. Errors, signals and specs, which
// may be large, are not among them.
const ListedColumns = `a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.parent_name, a.action_type,
	a.action_group, a.phase, a.attempt, a.version, a.cache_status, a.last_seq, a.task_project, a.task_domain, a.task_name,
	a.task_version, a.task_type, a.short_name, a.function_name, a.environment_name, a.recovered_from, a.created_by,
	a.created_by_subject, a.created_at, a.started_at, a.ended_at, a.updated_at, a.source, a.trigger_name,
	a.trigger_task_name, a.trigger_revision, a.trigger_automation, a.relation, a.queue, a.cluster`

// ListedTargets are where the values of ListedColumns are scanned to.
func ListedTargets(a *schema.Action) []any {
	return []any{
		&a.ID, &a.RunID, &a.Project, &a.Domain, &a.RunName, &a.Name, &a.ParentName, &a.ActionType,
		&a.ActionGroup, &a.Phase, &a.Attempt, &a.Version, &a.CacheStatus, &a.LastSeq, &a.TaskProject, &a.TaskDomain, &a.TaskName,
		&a.TaskVersion, &a.TaskType, &a.ShortName, &a.FunctionName, &a.EnvironmentName, &a.RecoveredFrom, &a.CreatedBy,
		&a.CreatedBySubject, &a.CreatedAt, &a.StartedAt, &a.EndedAt, &a.UpdatedAt, &a.Source, &a.TriggerName,
		&a.TriggerTaskName, &a.TriggerRevision, &a.TriggerAutomation, &a.Relation, &a.Queue, &a.Cluster,
	}
}

// ListActions reads a page of the actions of one run, by default oldest first, and the token of the next page. It
// returns NotFound when the run does not exist.
func (r *Reader) ListActions(ctx context.Context, run ident.Run, request *common.ListRequest) ([]Listed, string, error) {
	var runID int64
	var found bool
	const locate = `SELECT id FROM actions WHERE project = $1 AND domain = $2 AND run_name = $3 AND parent_name IS NULL`
	rows, err := r.pool.Query(ctx, locate, run.Project, run.Domain, run.Name)
	if err != nil {
		return nil, "", fmt.Errorf("locate run %s: %w", run, err)
	}
	if _, err := pgx.ForEachRow(rows, []any{&runID}, func() error { found = true; return nil }); err != nil {
		return nil, "", fmt.Errorf("locate run %s: %w", run, err)
	}
	if !found {
		return nil, "", rpc.NotFound("run %s does not exist", run)
	}

	var b listquery.Builder
	b.Where("a.run_id = " + b.Arg(runID, "bigint"))
	q, err := actionFields.Compile(b, []string{"actions", run.String()}, request)
	if err != nil {
		return nil, "", err
	}
	if wantsLiveOnly(request.GetFilters()) {
		q.Where("a.ended_at IS NULL") // follows from the phases, and has an index of its own
	}
	// The specs of conditions are small and carry the type that clients show.
	sql := `SELECT ` + ListedColumns + `, s.body, ` + q.Keys() + `
		FROM actions a LEFT JOIN specs s ON a.action_type = ` + sqltext.Condition + ` AND s.digest = a.spec_digest` + q.Tail()
	condition := func(l *Listed) any { return &l.Condition }
	if len(request.GetFilters()) == 0 && q.Order()[0].Field == "created_at" {
		return r.walked(ctx, q, sql, condition)
	}
	return listed(ctx, r.pool, q, sql, condition)
}

// walked is listed for a list that reads a whole index range in index order. For a young run the statistics are
// incomplete, and the planner would sort the whole run for each page. A setting, sent in the same round trip, makes
// it walk the index.
func (r *Reader) walked(ctx context.Context, q *listquery.Query, sql string, extra func(*Listed) any) (items []Listed, token string, err error) {
	const walk = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_sort', 'enable_bitmapscan', 'enable_seqscan']) AS name
		UNION ALL SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`
	var batch pgx.Batch // one transaction, which is what the settings are local to
	batch.Queue(walk)
	batch.Queue(sql, q.Args()...).Query(func(rows pgx.Rows) (err error) {
		items, err = pgx.CollectRows(rows, scanListedWith(extra))
		return err
	})
	if err := r.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, "", fmt.Errorf("list actions: %w", err)
	}
	items, token = listquery.Page(q, items, func(l Listed) []string { return l.keys })
	return items, token, nil
}

func scanListedWith(extra func(*Listed) any) pgx.RowToFunc[Listed] {
	return func(row pgx.CollectableRow) (Listed, error) {
		var l Listed
		return l, row.Scan(append(ListedTargets(&l.Action), extra(&l), &l.keys)...)
	}
}

// wantsLiveOnly reports whether the filters admit only phases of unfinished actions.
func wantsLiveOnly(filters []*common.Filter) bool {
	for _, filter := range filters {
		one := filter.GetFunction() == common.Filter_EQUAL || filter.GetFunction() == common.Filter_VALUE_IN
		if filter.GetField() == "phase" && one && !slices.ContainsFunc(filter.GetValues(), mayHaveEnded) {
			return true
		}
	}
	return false
}

func mayHaveEnded(phase string) bool {
	switch phase {
	case "1", "2", "3", "4", "9":
		return false
	default:
		return true
	}
}

// listed runs a list that selects listedColumns, one more column, and the sort values.
func listed(ctx context.Context, from querier, q *listquery.Query, sql string, extra func(*Listed) any) ([]Listed, string, error) {
	rows, err := from.Query(ctx, sql, sqltext.WithPlan(q.Args())...)
	if err != nil {
		return nil, "", fmt.Errorf("list actions: %w", err)
	}
	items, err := pgx.CollectRows(rows, scanListedWith(extra))
	if err != nil {
		return nil, "", fmt.Errorf("list actions: %w", err)
	}
	items, token := listquery.Page(q, items, func(l Listed) []string { return l.keys })
	return items, token, nil
}
