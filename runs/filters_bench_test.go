package runs_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

const (
	// slow is the budget of a list at the 99th percentile.
	slow = 50 * time.Millisecond
	// warmed is how many calls come before those that are measured: one of each value, since tokens of tenth pages are read by the first.
	warmed = 12
	// patience is when a case makes no more calls.
	patience = 15 * time.Second
)

// BenchmarkFilters makes every list of the console with every filter and order that it offers, over HTTP, on many runs:
// a fiftieth of a million, or a million with FLYTE_BENCH_SCALE=1. The calls of a case vary their values, frequent ones, rare
// ones and such that nothing has. It reports the time of a call, the processor time that Postgres used for it, and how many
// rows the plans of a call went through, at most. It logs the slowest call of a case that misses the budget with its plan,
// and in the end a table.
func BenchmarkFilters(b *testing.B) {
	f := newFiltering(b, storetest.SeedScale(b, 50))
	var measured []measuredCase
	for _, c := range f.cases() {
		b.Run(c.filter+"/"+c.name, func(b *testing.B) { measured = append(measured, f.measure(b, c)) })
	}
	b.Log("\n" + table(measured))
}

// filtering is a server with many runs.
type filtering struct {
	pool     *pgxpool.Pool
	recorded recordedStatements
	client   *http.Client
	url      string
	storetest.Config
}

// filterCase is a kind of call. Calls with different numbers have different values; it says what was asked and how much found.
type filterCase struct {
	filter, name string
	call         func(ctx context.Context, n int) (asked string, found int, err error)
}

type measuredCase struct {
	filterCase
	p50, p99 time.Duration
}

func newFiltering(b *testing.B, scale int) *filtering {
	b.Helper()
	f := &filtering{Config: storetest.DefaultConfig(), client: &http.Client{Transport: &http.Transport{}}}
	f.Runs, f.Span = 1_000_000/scale, 365*24*time.Hour
	config := pgtest.New(b, store.Migrations()).Config()
	delete(config.ConnConfig.RuntimeParams, "statement_timeout") // filling takes minutes, and what is slow is to be seen
	config.ConnConfig.Tracer = &f.recorded
	var err error
	f.pool, err = pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(f.pool.Close)
	began := time.Now()
	require.NoError(b, storetest.FillVaried(b.Context(), f.pool, f.Config))
	require.NoError(b, storetest.Exec(b.Context(), f.pool, besideRuns...))
	b.Logf("%d runs were filled in %s", f.Runs, time.Since(began).Round(time.Second))

	now := clock.NewFake(f.Start.Add(f.Span))
	service, err := runs.New(runs.DefaultConfig(), runs.Deps{Pool: f.pool, Blobs: inputsOfAll{Blobs: &memoryBlobs{}}, Clock: now, Logger: zerolog.Nop()})
	require.NoError(b, err)
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	service.Mount(mux)
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	b.Cleanup(f.client.CloseIdleConnections)
	f.url = server.URL
	return f
}

// besideRuns is what lists read besides runs: 10,000 tasks with two versions each, their health, and 10,000 problems.
var besideRuns = []string{
	`INSERT INTO tasks (project, domain, name, version, is_latest, short_name, spec_digest, created_at, updated_at)
		SELECT 'flytesnacks', 'development', 'pkg.flow_' || n, 'v' || v, v = 2, 'flow_' || n, '', '2026-01-01'::timestamptz + n * interval '1 minute', now()
		FROM generate_series(0, 9999) n, generate_series(1, 2) v`,
	`INSERT INTO task_health (project, domain, task, last_at, outcomes, succeeded, failed, aborted, hits, misses, earlier, p50, p90, p50_before, p90_before,
			change_p50, change_p90, failure_rate, hit_rate, cpu, memory, gpu, weight, as_of, prices)
		SELECT 'flytesnacks', 'development', 'pkg.flow_' || t, '2026-12-31'::timestamptz - t * interval '1 minute', '\x0501', 10, 1, 0, 1, 1, 5, t * 7919 % 1000, t, t, t,
			t * 7919 % 2000, t * 31 % 500, t % 1000, t % 999, t, t, 0, t * 104729 % 10000, '2026-12-31', 1 FROM generate_series(0, 9999) t`,
	`INSERT INTO problems (project, domain, code, message, failures, runs, tasks, first_seen, last_seen, run_name, name)
		SELECT 'flytesnacks', 'development', 'KeyError', 'column ' || n, n * 7919 % 1000, 1, ARRAY['pkg.flow_' || n % 300], '2026-12-31'::timestamptz - n * interval '1 hour',
			'2026-12-31'::timestamptz - n * interval '1 minute', 'r', 'a0' FROM generate_series(1, 10000) n`,
	`VACUUM ANALYZE tasks`, `VACUUM ANALYZE task_health`, `VACUUM ANALYZE problems`,
}

// inputsOfAll has an object of inputs for each run: their shard is a number below 1,000.
type inputsOfAll struct{ runs.Blobs }

// NewReader implements runs.Blobs.
func (inputsOfAll) NewReader(_ context.Context, uri string) (io.ReadCloser, error) {
	shard := uri[strings.LastIndexByte(uri, '/')+1:]
	value := &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: &core.Primitive{
		Value: &core.Primitive_StringValue{StringValue: shard},
	}}}}}
	body, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: "shard", Value: value}}})
	return io.NopCloser(strings.NewReader(string(body))), err
}

// measure makes the calls of a case.
func (f *filtering) measure(b *testing.B, c filterCase) measuredCase {
	b.Helper()
	call := func(n int) (string, int) {
		asked, found, err := c.call(b.Context(), n)
		require.NoError(b, err, asked)
		return asked, found
	}
	for n := range warmed {
		call(n)
	}
	var took []time.Duration
	var all, slowest time.Duration
	slowestCall, found := 0, 0
	before := storetest.CPUOf(b, f.pool)
	for n := 0; b.Loop(); n++ {
		if all > patience {
			continue // the loop has to end by itself
		}
		began := time.Now()
		_, some := call(n)
		one := time.Since(began)
		all, found, took = all+one, found+some, append(took, one)
		if one > slowest {
			slowest, slowestCall = one, n
		}
	}
	after := storetest.CPUOf(b, f.pool)
	slices.Sort(took)
	m := measuredCase{filterCase: c, p50: took[len(took)/2], p99: took[len(took)*99/100]}
	b.ReportMetric(inMs(m.p50), "p50-ms")
	b.ReportMetric(inMs(m.p99), "p99-ms")
	b.ReportMetric(inMs(after.Postgres-before.Postgres)/float64(len(took)), "postgres-CPU-ms")
	b.ReportMetric(float64(found)/float64(len(took)), "found")
	through := 0.0
	for _, n := range []int{0, 1, 2, slowestCall} {
		f.recorded.start()
		asked, _ := call(n)
		rows, plan := f.explain(b, f.recorded.stop())
		through = max(through, rows)
		if n == slowestCall && m.p99 > slow {
			b.Logf("%s takes %s\n%s", asked, slowest, plan)
		}
	}
	b.ReportMetric(through, "rows")
	return m
}

// explain runs the statements of a call again. It returns how many rows they go through, and the plan of that with the most.
func (f *filtering) explain(b *testing.B, statements []pgx.TraceQueryStartData) (through float64, plan string) {
	b.Helper()
	most := -1.0
	require.NoError(b, pgx.BeginFunc(b.Context(), f.pool, func(tx pgx.Tx) error {
		for _, statement := range statements {
			sql := "EXPLAIN (ANALYZE, BUFFERS) " + statement.SQL
			if strings.HasPrefix(statement.SQL, "SELECT set_config") {
				sql = statement.SQL // the plans of what follows depend on it
			} else if !strings.Contains(statement.SQL, "FROM ") || strings.HasPrefix(statement.SQL, "EXPLAIN") {
				continue
			}
			rows, err := tx.Query(b.Context(), sql, statement.Args...)
			if err != nil {
				return err
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
			one := storetest.GoneThrough(lines)
			if through += one; one > most {
				most, plan = one, strings.Join(lines, "\n")
			}
		}
		return nil
	}))
	return through, plan
}

// recordedStatements are the statements of a pool while a call is recorded.
type recordedStatements struct {
	mu        sync.Mutex
	recording bool                      // GUARDED_BY(mu)
	all       []pgx.TraceQueryStartData // GUARDED_BY(mu)
}

func (r *recordedStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recording {
		r.all = append(r.all, data)
	}
	return ctx
}

func (*recordedStatements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *recordedStatements) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recording, r.all = true, nil
}

func (r *recordedStatements) stop() []pgx.TraceQueryStartData {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recording = false
	return r.all
}

// table has a line for each filter: the highest figures of its cases, and which case has the highest p99.
func table(measured []measuredCase) string {
	filters := map[string]measuredCase{}
	for _, m := range measured {
		worst, there := filters[m.filter]
		if !there || m.p99 > worst.p99 {
			worst.filterCase, worst.p99 = m.filterCase, m.p99
		}
		worst.p50 = max(worst.p50, m.p50)
		filters[m.filter] = worst
	}
	var text strings.Builder
	text.WriteString("| filter | p50 | p99 | the slowest |\n|---|---|---|---|\n")
	for _, m := range slices.SortedFunc(maps.Values(filters), func(a, b measuredCase) int { return cmp.Compare(a.filter, b.filter) }) {
		fmt.Fprintf(&text, "| %s | %.1f ms | %.1f ms | %s |\n", m.filter, inMs(m.p50), inMs(m.p99), m.name)
	}
	return text.String()
}

func inMs(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
