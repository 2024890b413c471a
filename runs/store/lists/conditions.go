package lists

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Condition is a condition of a run.
type Condition struct {
	ID        int64
	Action    string
	Name      string
	Phase     int16
	CreatedAt time.Time
	EndedAt   *time.Time
	Recovered bool
	Signal    []byte // engine.v1.StoredSignal; nil without an answer
	keys      []string
}

// conditionFields have the only order of the list, that of the index actions_run_conditions.
var conditionFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":         {Expr: "a.id", Type: listquery.BigInt},
		"created_at": {Expr: "a.created_at", Type: listquery.Time},
	},
	ID:           "id",
	Default:      []listquery.Order{{Field: "created_at"}},
	DefaultLimit: 100,
	MaxLimit:     1000,
}

// Conditions reads a page of the conditions of a run, the oldest first, and the token of the next page; only that of an action if it is
// not empty.
func (r *Reader) Conditions(ctx context.Context, runID int64, action string, limit uint32, token string) (page []Condition, next string, err error) {
	b := listquery.Builder{}
	b.Where("a.action_type = " + sqltext.Condition)
	b.Where("a.run_id = " + b.Arg(runID, "bigint"))
	if action != "" {
		b.Equal("a.name", action)
	}
	q, err := conditionFields.Compile(b, []string{"conditions", strconv.FormatInt(runID, 10), action}, &common.ListRequest{Limit: limit, Token: token})
	if err != nil {
		return nil, "", err
	}
	rows, err := r.pool.Query(ctx, `SELECT a.id, a.name, a.task_name, a.phase, a.created_at, a.ended_at, a.recovered_from IS NOT NULL, a.signal, `+
		q.Keys()+` FROM actions a`+q.Tail(), q.Args()...)
	if err != nil {
		return nil, "", fmt.Errorf("list conditions: %w", err)
	}
	page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Condition, err error) {
		return c, row.Scan(&c.ID, &c.Action, &c.Name, &c.Phase, &c.CreatedAt, &c.EndedAt, &c.Recovered, &c.Signal, &c.keys)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list conditions: %w", err)
	}
	page, next = listquery.Page(q, page, func(c Condition) []string { return c.keys })
	return page, next, nil
}
