package lists_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// recorder records the statements that a pool runs.
type recorder struct{ last []pgx.TraceQueryStartData }

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.last = append(r.last, data)
	return ctx
}

func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// recordedReader is a reader on its own pool, whose statements are recorded.
func recordedReader(t *testing.T, pool *pgxpool.Pool) (*lists.Reader, *recorder) {
	t.Helper()
	traced, recorded := recordedPool(t, pool)
	return lists.NewReader(traced), recorded
}

func recordedPool(t *testing.T, pool *pgxpool.Pool) (*pgxpool.Pool, *recorder) {
	t.Helper()
	recorded := &recorder{}
	traced := pool.Config()
	traced.ConnConfig.Tracer = recorded
	tracedPool, err := pgxpool.NewWithConfig(t.Context(), traced)
	require.NoError(t, err)
	t.Cleanup(tracedPool.Close)
	return tracedPool, recorded
}

// statements are those that read actions.
func (r *recorder) statements() []pgx.TraceQueryStartData {
	return slices.DeleteFunc(slices.Clone(r.last), func(statement pgx.TraceQueryStartData) bool { return !strings.Contains(statement.SQL, "FROM actions") })
}

// through is how many rows the recorded statements of a transaction went through, each node of their plans counted.
func (r *recorder) through(t *testing.T, pool *pgxpool.Pool) (sum float64) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		for _, statement := range r.last {
			sql := statement.SQL // of settings, on which the plans depend
			if strings.Contains(sql, "FROM actions") {
				sql = "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) " + sql
			} else if !strings.Contains(sql, "set_config") {
				continue
			}
			rows, err := tx.Query(t.Context(), sql, statement.Args...)
			if err != nil {
				return err
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return err
			}
			sum += storetest.GoneThrough(plan)
		}
		return nil
	}))
	return sum
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// planOf returns the planner's plan for a statement and fails if it scans all actions.
func planOf(t *testing.T, planner querier, statement pgx.TraceQueryStartData) string {
	t.Helper()
	rows, err := planner.Query(t.Context(), "EXPLAIN "+statement.SQL, statement.Args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	plan := strings.Join(lines, "\n")
	require.NotContains(t, plan, "Seq Scan on actions", "%s\n%s", statement.SQL, plan)
	return plan
}

// TestListsUseIndexes checks the plans of the lists that clients request: none may scan the whole table. Wide runs
// are left out: their own index range is scanned when a filter matches almost nothing.
//
// Story R13: lists took minutes once there were 50,000 runs, for lack of an index in the requested order.
func TestListsUseIndexes(t *testing.T) {
	pool, config := storetest.Seeded(t, 20)
	reader, recorded := recordedReader(t, pool)
	for _, c := range listCases(config) {
		t.Run(c.name, func(t *testing.T) {
			recorded.last = nil
			require.NoError(t, c.run(t.Context(), reader))
			require.NotEmpty(t, recorded.last)
			for _, statement := range recorded.statements() {
				planOf(t, pool, statement)
			}
		})
	}
}
