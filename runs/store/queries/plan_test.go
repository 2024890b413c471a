package queries_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// recorder records the statements that a pool runs.
type recorder struct{ last []pgx.TraceQueryStartData }

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "FROM actions") {
		r.last = append(r.last, data)
	}
	return ctx
}

func (*recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestQueriesUseIndexes checks the plan of each statement of typical queries, without the settings that they run with: none
// scans the table, and none reads rows without a bound.
func TestQueriesUseIndexes(t *testing.T) {
	pool, config := storetest.Seeded(t, 20)
	recorded := &recorder{}
	traced := pool.Config()
	traced.ConnConfig.Tracer = recorded
	tracedPool, err := pgxpool.NewWithConfig(t.Context(), traced)
	require.NoError(t, err)
	t.Cleanup(tracedPool.Close)
	reader := queries.NewReaderOf(tracedPool, 500)
	for _, text := range typical {
		node, err := query.Parse(text)
		require.NoError(t, err)
		for _, order := range []queries.Order{queries.Newest, queries.Oldest, queries.Updated, queries.Longest} {
			recorded.last = nil
			ask := queries.Ask{
				Scope: schema.Scope{Project: config.Project, Domain: config.Domain}, Query: node, Text: text, Order: order, Limit: 100, Now: config.Start.Add(config.Span),
			}
			_, err := reader.Find(t.Context(), ask)
			require.NoError(t, err)
			_, _, err = reader.Count(t.Context(), ask, 1000)
			require.NoError(t, err)
			require.NotEmpty(t, recorded.last)
			for _, statement := range recorded.last {
				if strings.HasPrefix(statement.SQL, "EXPLAIN") {
					continue // asks for an estimate only
				}
				plan := explain(t, pool, statement)
				require.NotContains(t, plan, "Seq Scan on actions", "%s\n%s\n%s", text, statement.SQL, plan)
				require.Contains(t, plan, "Limit", "%s\n%s", text, plan)
			}
		}
	}
}

func explain(t *testing.T, pool *pgxpool.Pool, statement pgx.TraceQueryStartData) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "EXPLAIN "+statement.SQL, statement.Args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}
