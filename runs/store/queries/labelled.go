package queries

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// frequent is how many times more runs than may be looked at have labels, by the estimate of the planner, that are not counted. Counting a
// hundred thousand takes longer than all else.
const frequent = 5

// labelled is another source for a query that takes labels, if so few runs have them that all can be looked at.
func (w *walk) labelled(ctx context.Context, tx pgx.Tx) (func(*listquery.Builder) string, bool, error) {
	terms := labelsOf(w.ask.Query)
	if len(terms) == 0 {
		return nil, false, nil
	}
	labels := func(b *listquery.Builder) string {
		conditions := make([]string, 0, len(terms))
		for _, term := range terms {
			conditions = append(conditions, termCondition(b, term, w.ask))
		}
		return strings.Join(conditions, " AND ")
	}
	if _, err := tx.Exec(ctx, `SELECT set_config('enable_bitmapscan', 'on', true)`); err != nil {
		return nil, false, err
	}
	b := &listquery.Builder{}
	sql := `SELECT 1 FROM actions a WHERE a.parent_name IS NULL AND ` + labels(b)
	if estimate, err := estimated(ctx, tx, sql, b.Args()); err != nil || estimate > float64(frequent*w.most) {
		return nil, false, err
	}
	var count int
	few := fmt.Sprintf(`SELECT count(*) FROM (%s LIMIT %d) few`, sql, w.most+1)
	if err := tx.QueryRow(ctx, few, sqltext.WithPlan(b.Args())...).Scan(&count); err != nil || count > w.most {
		return nil, false, err
	}
	return func(b *listquery.Builder) string {
		// OFFSET keeps the planner from reading the order instead.
		return `(SELECT * FROM actions a WHERE ` + w.scope(b) + ` AND ` + labels(b) + ` OFFSET 0)`
	}, true, nil
}

// estimated is how many rows the planner expects of a statement.
func estimated(ctx context.Context, tx pgx.Tx, sql string, args []any) (float64, error) {
	var text string
	if err := tx.QueryRow(ctx, `EXPLAIN (FORMAT JSON) `+sql, sqltext.WithPlan(args)...).Scan(&text); err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) == 0 {
		return 0, fmt.Errorf("read a plan: %w", err)
	}
	return plans[0].Plan.Rows, nil
}
