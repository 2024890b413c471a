package lists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// WaitingRoot is an unfinished run in which something waits.
type WaitingRoot struct {
	ID        int64
	Run       ident.Run
	Title     string
	Phase     int16
	CreatedAt time.Time
	CreatedBy []byte
	// Counts is the number of actions by phase; nil if a version wrote the run last that does not count.
	Counts []int32
	keys   []string
}

// waitingFields have the only order of the list.
var waitingFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":         {Expr: "a.id", Type: listquery.BigInt},
		"created_at": {Expr: "a.created_at", Type: listquery.Time},
	},
	ID:           "id",
	Default:      []listquery.Order{{Field: "created_at"}},
	DefaultLimit: 50,
	MaxLimit:     100,
}

// somethingWaits: an action is queued, waits for resources or for a person, or is being initialized; or that is not known.
const somethingWaits = `(a.counted_seq IS DISTINCT FROM a.last_seq OR a.phase_counts[2] + a.phase_counts[3] + a.phase_counts[4] + a.phase_counts[10] > 0)`

// WaitingRoots reads a page of the unfinished runs in which something waits, oldest first, within the scope of the call. Empty fields of
// the scope do not restrict.
func (r *Reader) WaitingRoots(ctx context.Context, scope schema.Scope, limit uint32, token string) (page []WaitingRoot, next string, err error) {
	b := listquery.Builder{}
	b.Where("a.parent_name IS NULL AND a.ended_at IS NULL")
	b.Where(somethingWaits)
	if scope.Project != "" {
		b.Equal("a.project", scope.Project)
	}
	if scope.Domain != "" {
		b.Equal("a.domain", scope.Domain)
	}
	listquery.Narrow(ctx, &b, "a.project", "a.domain")
	q, err := waitingFields.Compile(b, []string{"waiting", scope.Project, scope.Domain}, &common.ListRequest{Limit: limit, Token: token})
	if err != nil {
		return nil, "", err
	}
	// All unfinished runs are read, and no others: the planner would walk the runs of all times in their order.
	sql := `WITH a AS MATERIALIZED (
			SELECT a.id, a.project, a.domain, a.run_name, a.short_name, a.phase, a.created_at, a.created_by, a.phase_counts, a.counted_seq, a.last_seq
			FROM actions a WHERE ` + q.Conditions() + `)
		SELECT a.id, a.project, a.domain, a.run_name, a.short_name, a.phase, a.created_at, a.created_by,
			CASE WHEN a.counted_seq = a.last_seq THEN a.phase_counts END, ` + q.Keys() + ` FROM a ORDER BY ` + q.OrderBy() + fmt.Sprintf(" LIMIT %d", q.Limit+1)
	rows, err := r.pool.Query(ctx, sql, sqltext.WithPlan(q.Args())...)
	if err != nil {
		return nil, "", fmt.Errorf("list waiting runs: %w", err)
	}
	page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w WaitingRoot, err error) {
		return w, row.Scan(&w.ID, &w.Run.Project, &w.Run.Domain, &w.Run.Name, &w.Title, &w.Phase, &w.CreatedAt, &w.CreatedBy, &w.Counts, &w.keys)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list waiting runs: %w", err)
	}
	page, next = listquery.Page(q, page, func(w WaitingRoot) []string { return w.keys })
	return page, next, nil
}

// RunStanding is what is known of what an unfinished run waits for.
type RunStanding struct {
	// Waiting has the longest waiting of each kind: for a person, for admission, on a cluster.
	Waiting []Standing
	// Parents is how many running actions wait for others.
	Parents int
}

// sampled is how many unfinished actions of a run are looked at: those of a large run that wait mostly wait for the same.
const sampled = "100"

const (
	standingColumns = `a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.parent_name, a.action_type, a.phase, a.attempt,
		a.admitted_at, a.hold, a.queue, a.priority, a.runner, a.wake_at, a.deadline_at, a.created_at, a.started_at, a.task_name,
		a.cache_status, a.cache_key, a.cache_reason, a.cluster, a.created_by_subject`
	// The kinds of waiting: 1 for a person, 2 for admission, 3 on a cluster.
	waitingOfRuns = `
		SELECT DISTINCT ON (k.id, w.kind) ` + standingColumns + `, r.max_concurrency
		FROM unnest($1::bigint[]) AS k (id) JOIN actions r ON r.id = k.id CROSS JOIN LATERAL (
			SELECT s.id, CASE WHEN s.phase = ` + sqltext.Paused + ` THEN 1 WHEN s.admitted_at IS NULL THEN 2 ELSE 3 END AS kind FROM (
				(SELECT * FROM actions u WHERE u.run_id BETWEEN k.id AND k.id AND u.ended_at IS NULL ORDER BY u.run_id, u.parent_name LIMIT ` + sampled + `)
				UNION ALL (SELECT * FROM (
					SELECT * FROM actions c WHERE c.run_id BETWEEN k.id AND k.id AND c.action_type = ` + sqltext.Condition + `
					ORDER BY c.run_id DESC, c.created_at DESC, c.id DESC LIMIT ` + sampled + `) AS c
					WHERE r.paused_count > 0 AND c.phase = ` + sqltext.Paused + `)) AS s
			WHERE s.phase = ` + sqltext.Paused + ` AND s.action_type = ` + sqltext.Condition + `
				OR s.action_type = ` + sqltext.Task + ` AND s.phase IN (` + sqltext.Queued + `, ` + sqltext.WaitingForResources + `, ` + sqltext.Initializing + `)) AS w
		JOIN actions a ON a.id = w.id
		ORDER BY k.id, w.kind, a.created_at, a.id`
	// Parents have lower ids than what they wait for, so they come first.
	parentsOfRuns = `
		SELECT k.id, count(*) FROM unnest($1::bigint[]) AS k (id) CROSS JOIN LATERAL (
			SELECT l.name, l.phase FROM actions l WHERE l.run_id BETWEEN k.id AND k.id AND l.admitted_at IS NOT NULL AND l.ended_at IS NULL
			ORDER BY l.run_id, l.id LIMIT ` + sampled + `) AS p
		WHERE p.phase = ` + sqltext.Running + ` AND (SELECT c.id FROM actions c
			WHERE c.run_id = k.id AND c.parent_name BETWEEN p.name AND p.name AND c.ended_at IS NULL ORDER BY c.parent_name LIMIT 1) IS NOT NULL
		GROUP BY k.id`
	eventsOfActions = `
		SELECT e.run_id, e.seq, e.action_id, e.attempt, e.phase, e.version, e.recorded_at, e.event, e.error
		FROM unnest($1::bigint[]) AS k (id) CROSS JOIN LATERAL (
			SELECT * FROM action_events WHERE action_id BETWEEN k.id AND k.id ORDER BY action_id DESC, seq DESC LIMIT 10) AS e`
)

// RunStandings reads what unfinished runs wait for, by the id of the run. It looks at a bounded number of actions of each.
func (r *Reader) RunStandings(ctx context.Context, ids []int64) (map[int64]RunStanding, error) {
	runs := make(map[int64]RunStanding, len(ids))
	err := sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqltext.Planning); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, waitingOfRuns, sqltext.Planned, ids)
		if err != nil {
			return err
		}
		waiting, err := pgx.CollectRows(rows, scanStanding)
		if err != nil {
			return err
		}
		if err := readLastEvents(ctx, tx, waiting); err != nil {
			return err
		}
		for _, s := range waiting {
			run := runs[s.RunID]
			run.Waiting = append(run.Waiting, s)
			runs[s.RunID] = run
		}
		if rows, err = tx.Query(ctx, parentsOfRuns, sqltext.Planned, ids); err != nil {
			return err
		}
		var id int64
		var parents int
		_, err = pgx.ForEachRow(rows, []any{&id, &parents}, func() error {
			run := runs[id]
			run.Parents = parents
			runs[id] = run
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what runs wait for: %w", err)
	}
	return runs, nil
}

func scanStanding(row pgx.CollectableRow) (s Standing, err error) {
	return s, row.Scan(&s.ID, &s.RunID, &s.Project, &s.Domain, &s.RunName, &s.Name, &s.ParentName, &s.ActionType, &s.Phase, &s.Attempt,
		&s.AdmittedAt, &s.Hold, &s.Queue, &s.Priority, &s.Runner, &s.WakeAt, &s.DeadlineAt, &s.CreatedAt, &s.StartedAt, &s.TaskName,
		&s.CacheStatus, &s.CacheKey, &s.CacheReason, &s.Cluster, &s.CreatedBySubject, &s.RunLimit)
}

// readLastEvents adds the last events of actions that a cluster has, newest first: they say what it does.
func readLastEvents(ctx context.Context, tx pgx.Tx, waiting []Standing) error {
	at := map[int64]*Standing{}
	var ids []int64
	for i := range waiting {
		if waiting[i].AdmittedAt != nil {
			ids = append(ids, waiting[i].ID)
			at[waiting[i].ID] = &waiting[i]
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, eventsOfActions, sqltext.Planned, ids)
	if err != nil {
		return err
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[schema.Event])
	if err != nil {
		return err
	}
	for _, event := range events {
		s := at[event.ActionID]
		s.Events = append(s.Events, event)
	}
	return nil
}

// NamedRuns reads the names of runs by their ids, of those within the scope of the call.
func (r *Reader) NamedRuns(ctx context.Context, ids []int64) (map[int64]ident.Run, error) {
	within, args := sqltext.WithinScope(ctx, []any{ids})
	rows, err := r.pool.Query(ctx, `SELECT a.id, a.project, a.domain, a.run_name FROM actions a WHERE a.id = ANY($1) AND a.parent_name IS NULL`+within,
		sqltext.WithPlan(args)...)
	if err != nil {
		return nil, fmt.Errorf("read the names of runs: %w", err)
	}
	found := make(map[int64]ident.Run, len(ids))
	var id int64
	var run ident.Run
	if _, err := pgx.ForEachRow(rows, []any{&id, &run.Project, &run.Domain, &run.Name}, func() error {
		found[id] = run
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the names of runs: %w", err)
	}
	return found, nil
}
