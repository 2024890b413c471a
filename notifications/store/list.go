package store

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

var fields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":         {Expr: "d.id", Type: listquery.BigInt},
		"created_at": {Expr: "d.created_at", Type: listquery.Time},
	},
	ID:      "id",
	Default: []listquery.Order{{Field: "created_at", Desc: true}},
}

type listed struct {
	Delivery
	keys []string
}

// List reads a page of deliveries, the newest first, and the token of the next page. Empty fields of the run do not
// restrict; state 0 is every state.
func (s *Store) List(ctx context.Context, run ident.Run, state int16, limit uint32, token string) ([]Delivery, string, error) {
	b := listquery.Builder{}
	for _, field := range []struct{ column, value string }{{"d.project", run.Project}, {"d.domain", run.Domain}, {"d.run_name", run.Name}} {
		if field.value != "" {
			b.Equal(field.column, field.value)
		}
	}
	if state != 0 {
		b.Where("d.state = " + b.Arg(state, "smallint"))
	}
	listquery.Narrow(ctx, &b, "d.project", "d.domain")
	scope := []string{"deliveries", run.Project, run.Domain, run.Name, strconv.Itoa(int(state))}
	q, err := fields.Compile(b, scope, &common.ListRequest{Limit: limit, Token: token})
	if err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, `SELECT `+columns+`, `+q.Keys()+` FROM notification_deliveries d`+q.Tail(), q.Args()...)
	if err != nil {
		return nil, "", fmt.Errorf("list deliveries: %w", err)
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (listed, error) {
		var one listed
		return one, row.Scan(append(one.targets(), &one.keys)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list deliveries: %w", err)
	}
	page, next := listquery.Page(q, page, func(one listed) []string { return one.keys })
	list := make([]Delivery, len(page))
	for i := range page {
		list[i] = page[i].Delivery
	}
	return list, next, nil
}
