package admission_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// trips counts the round trips of a pool that sends batches only.
type trips struct{ n atomic.Int64 }

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A pass takes up to three round trips to read, one more for long queues of few runs, and three to write.
func TestRoundTripsOfAPass(t *testing.T) {
	counted := &trips{}
	config := pgtest.New(t, store.Migrations()).Config().Copy()
	config.ConnConfig.Tracer = counted
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	f := fixtureOn(t, pool, 10_000, 100, queues.Queue{Name: "q", MaxActions: 1000, MaxRuns: 1000})
	cost := func() int64 {
		before := counted.n.Load()
		f.pass()
		return counted.n.Load() - before
	}
	require.EqualValues(t, 1, cost(), "nothing waits")
	for i := range 30 {
		f.run(fmt.Sprint("r", i), "q", func(r *schema.Root) { r.MaxConcurrency = 50 })
	}
	require.EqualValues(t, 5, cost(), "roots")
	for i := range 30 {
		f.children(fmt.Sprint("r", i), root, 1, "q")
	}
	require.EqualValues(t, 6, cost(), "children of many runs")
	f.wide("wide", "q", 5000)
	f.pass()
	require.LessOrEqual(t, cost(), int64(7), "a wide run")
}

// BenchmarkPass runs a pass over a long queue that is full, and over one with room.
func BenchmarkPass(b *testing.B) {
	for _, runs := range []int{1, 100, 2000} {
		b.Run(fmt.Sprint("full/runs=", runs), func(b *testing.B) {
			f := newFixture(b, 10_000, 500, queues.Queue{Name: "q", MaxActions: 8})
			for i := range runs {
				_, err := f.pool.Exec(b.Context(), `
					WITH root AS (
						INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, queue, admitted_at, created_at, updated_at)
						SELECT id, id, 'p', 'd', 'r' || $1::int, 'a0', 1, 4, 'q', now(), now(), now() FROM (SELECT nextval('actions_id_seq') AS id) n RETURNING id)
					INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, queue, created_at, updated_at)
					SELECT nextval('actions_id_seq'), root.id, 'p', 'd', 'r' || $1::int, 'c' || n, 'a0', 1, 1, 'q', now(), now()
					FROM root, generate_series(1, $2::int) n`, i, 50_000/runs)
				require.NoError(b, err)
			}
			f.drain()
			for b.Loop() {
				f.pass()
			}
		})
	}
}

// BenchmarkPassOverRoots runs passes over 100,000 waiting roots: of one project or of many, in a queue that is full, and in
// one with a free place for each pass.
func BenchmarkPassOverRoots(b *testing.B) {
	for _, c := range []struct {
		name     string
		projects int
		free     bool
	}{{"full/projects=1", 1, false}, {"full/projects=100", 100, false}, {"free/projects=1", 1, true}, {"free/projects=100", 100, true}} {
		b.Run(c.name, func(b *testing.B) {
			f := newFixture(b, 10_000, 500, queues.Queue{Name: "q", MaxActions: 8})
			f.roots("q", 100_000, c.projects)
			f.drain()
			for b.Loop() {
				if c.free {
					_, err := f.pool.Exec(b.Context(), `
						UPDATE actions SET ended_at = now(), phase = 5 WHERE id = (SELECT min(id) FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL)`)
					require.NoError(b, err)
				}
				f.pass()
			}
		})
	}
}

// roots records waiting roots, each a run of its own, of as many projects: p0 first, then p1, and so on.
func (f *fixture) roots(queue string, n, projects int) {
	f.t.Helper()
	_, err := f.pool.Exec(f.t.Context(), `
		INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, queue, created_at, updated_at)
		SELECT id, id, 'p' || (n * $3::int / $2::int), 'd', 'r' || n, 'a0', 1, 1, $1, now(), now()
		FROM (SELECT nextval('actions_id_seq') AS id, n FROM generate_series(0, $2::int - 1) n) AS root`, queue, n, projects)
	require.NoError(f.t, err)
	_, err = f.pool.Exec(f.t.Context(), `ANALYZE actions`)
	require.NoError(f.t, err)
}
