package rollups

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Order is what tasks are sorted by: a column.
type Order string

// The orders.
const (
	ByLast        Order = "last_at"
	ByName        Order = "task"
	ByP50         Order = "p50"
	ByP90         Order = "p90"
	ByChangeP50   Order = "change_p50"
	ByChangeP90   Order = "change_p90"
	ByFailureRate Order = "failure_rate"
	ByHitRate     Order = "hit_rate"
	ByWeight      Order = "weight"
)

var healthFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":                  {Expr: "h.id", Type: listquery.BigInt},
		string(ByLast):        {Expr: "h.last_at", Type: listquery.Time},
		string(ByName):        {Expr: "h.task", Type: listquery.Text},
		string(ByP50):         {Expr: "h.p50", Type: listquery.BigInt},
		string(ByP90):         {Expr: "h.p90", Type: listquery.BigInt},
		string(ByChangeP50):   {Expr: "h.change_p50", Type: listquery.Int},
		string(ByChangeP90):   {Expr: "h.change_p90", Type: listquery.Int},
		string(ByFailureRate): {Expr: "h.failure_rate", Type: listquery.Int},
		string(ByHitRate):     {Expr: "h.hit_rate", Type: listquery.Int},
		string(ByWeight):      {Expr: "h.weight", Type: listquery.BigInt},
	},
	ID:           "id",
	DefaultLimit: 50,
	MaxLimit:     500,
}

// Filter says which tasks to list.
type Filter struct {
	Scope     schema.Scope
	Text      string // in the name, in any case
	Order     Order
	Ascending bool
	Limit     uint32
	Token     string
}

// ListHealth reads a page of tasks, and the token of the next.
func (s *Store) ListHealth(ctx context.Context, filter Filter) (page []Health, next string, err error) {
	b := listquery.Builder{}
	b.Equal("h.project", filter.Scope.Project)
	b.Equal("h.domain", filter.Scope.Domain)
	listquery.Narrow(ctx, &b, "h.project", "h.domain")
	if filter.Text != "" {
		b.Where("strpos(lower(h.task), " + b.Arg(strings.ToLower(filter.Text), "text") + ") > 0")
	}
	direction := common.Sort_DESCENDING
	if filter.Ascending {
		direction = common.Sort_ASCENDING
	}
	scope := []string{"task health", filter.Scope.Project, filter.Scope.Domain, filter.Text, strconv.FormatBool(filter.Ascending)}
	q, err := healthFields.Compile(b, scope, &common.ListRequest{
		Limit: filter.Limit, Token: filter.Token, SortByFields: []*common.Sort{{Key: string(filter.Order), Direction: direction}},
	})
	if err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, `SELECT `+healthColumns+`, `+q.Keys()+` FROM task_health h`+q.Tail(), append([]any{sqltext.Planned}, q.Args()...)...)
	if err != nil {
		return nil, "", fmt.Errorf("list the health of tasks: %w", err)
	}
	page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Health, err error) {
		return h, row.Scan(append(h.targets(), &h.keys)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list the health of tasks: %w", err)
	}
	page, next = listquery.Page(q, page, func(h Health) []string { return h.keys })
	return page, next, nil
}
