package problems_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/problems"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// asked is the last statement of a pool.
type asked struct{ last pgx.TraceQueryStartData }

func (a *asked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	a.last = data
	return ctx
}

func (a *asked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestListProblemsReadsLittle: each order of a page has an index, so that nothing is sorted, whatever the number of problems.
func TestListProblemsReadsLittle(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	_, err := pool.Exec(t.Context(), `
		INSERT INTO problems (project, domain, code, message, failures, runs, tasks, first_seen, last_seen, run_name, name)
		SELECT 'p' || n % 3, 'd', 'E', 'm', n * 7919 % 1000, 1, '{t}', now() - n * interval '1 minute', now() - n * interval '1 second', 'r', 'a0'
		FROM generate_series(1, 30000) AS n`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `ANALYZE problems`)
	require.NoError(t, err)
	config, statement := pool.Config(), &asked{}
	config.ConnConfig.Tracer = statement
	traced, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer traced.Close()
	for _, order := range []problems.Order{problems.ByLastSeen, problems.ByFirstSeen, problems.ByFailures} {
		filter := problems.Filter{Scope: schema.Scope{Project: "p1", Domain: "d"}, Order: order}
		for range 2 { // the first page, and one that continues it
			page, next, err := problems.New(traced).List(t.Context(), filter)
			require.NoError(t, err)
			require.Len(t, page, 50)
			filter.Token = next
			rows, err := pool.Query(t.Context(), `EXPLAIN `+statement.last.SQL, statement.last.Args...)
			require.NoError(t, err)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			plan := strings.Join(lines, "\n")
			require.Contains(t, plan, "using problems_"+string(order), plan)
			require.NotContains(t, plan, "Sort", plan)
		}
	}
	filter := problems.Filter{Scope: schema.Scope{Project: "p1", Domain: "d"}, Order: problems.ByLastSeen, Since: time.Now().Add(-time.Hour), Limit: 500}
	page, _, err := problems.New(pool).List(t.Context(), filter)
	require.NoError(t, err)
	require.Len(t, page, 500)
}
