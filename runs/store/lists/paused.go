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

// PausedAction is a condition that waits for its value.
type PausedAction struct {
	ID         int64
	Action     ident.Action
	Parent     string
	Condition  []byte // workflow.ConditionAction; nil when it is not stored
	CreatedAt  time.Time
	DeadlineAt *time.Time
	keys       []string
}

// pausedFields have the only order of the list.
var pausedFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":         {Expr: "a.id", Type: listquery.BigInt},
		"created_at": {Expr: "a.created_at", Type: listquery.Time},
	},
	ID:           "id",
	Default:      []listquery.Order{{Field: "created_at"}},
	DefaultLimit: 100,
	MaxLimit:     1000,
}

// isPaused is the condition of the partial indexes.
const isPaused = "a.phase = " + sqltext.Paused + " AND a.action_type = " + sqltext.Condition

// ListPaused reads a page of waiting conditions, longest waiting first, the token of the next page, and the number of
// waiting conditions. Empty fields of the scope do not restrict; limit 0 means 100. With an assignee, only those that this person is
// asked to answer.
func (r *Reader) ListPaused(ctx context.Context, scope schema.Scope, assignee string, limit uint32, token string) (page []PausedAction, next string, total int64, err error) {
	b := listquery.Builder{}
	b.Where(isPaused)
	if scope.Project != "" {
		b.Equal("a.project", scope.Project)
	}
	if scope.Domain != "" {
		b.Equal("a.domain", scope.Domain)
	}
	if assignee != "" {
		b.Where("EXISTS (SELECT FROM condition_assignees c WHERE c.action_id = a.id AND c.subject = " + b.Arg(assignee, "text") + ")")
	}
	listquery.Narrow(ctx, &b, "a.project", "a.domain")
	q, err := pausedFields.Compile(b, []string{"paused", scope.Project, scope.Domain, assignee}, &common.ListRequest{Limit: limit, Token: token})
	if err != nil {
		return nil, "", 0, err
	}
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		sql := `SELECT a.id, a.project, a.domain, a.run_name, a.name, coalesce(a.parent_name, ''), a.created_at, a.deadline_at,
			(SELECT s.body FROM specs s WHERE s.digest = a.spec_digest), ` + q.Keys() + ` FROM actions a` + q.Tail()
		if _, err := tx.Exec(ctx, sqltext.Planning); err != nil { // in index order, even if the planner expects few rows
			return err
		}
		rows, err := tx.Query(ctx, sql, append([]any{sqltext.Planned}, q.Args()...)...)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (PausedAction, error) {
			var p PausedAction
			run := &p.Action.Run
			return p, row.Scan(&p.ID, &run.Project, &run.Domain, &run.Name, &p.Action.Name, &p.Parent, &p.CreatedAt, &p.DeadlineAt, &p.Condition, &p.keys)
		})
		if err != nil {
			return err
		}
		page, next = listquery.Page(q, page, func(p PausedAction) []string { return p.keys })
		count := `SELECT count(*) FROM actions a WHERE ` + q.Unpaged().Conditions()
		return tx.QueryRow(ctx, count, append([]any{sqltext.Planned}, q.Unpaged().Args()...)...).Scan(&total)
	})
	if err != nil {
		return nil, "", 0, fmt.Errorf("list paused actions: %w", err)
	}
	return page, next, total, nil
}
