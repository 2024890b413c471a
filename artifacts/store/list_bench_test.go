package store_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// fill makes versions of names: the name "big" has half of them, the others share 1000 names. Each version has a region
// (one of 4; "old" only among the first thousandth), a day, an owner of 1000, and one rare key.
func fill(tb testing.TB, pool *pgxpool.Pool, versions int) {
	tb.Helper()
	began := time.Now()
	conn, err := pool.Acquire(tb.Context())
	require.NoError(tb, err)
	defer conn.Release()
	for _, statement := range []string{
		`SET statement_timeout = 0`,
		`INSERT INTO artifact_names (project, domain, name, has_schema, time_key, granularity, partition_keys)
			SELECT 'p', 'd', CASE n WHEN 0 THEN 'big' ELSE 'name-' || n END, true, 'date', 3, '{region}' FROM generate_series(0, 1000) n`,
		`INSERT INTO artifact_versions (name_id, project, domain, name, version, created_at, spec, partition, partitions, newest, time_partition, source_run, source_action)
			SELECT n.id, 'p', 'd', n.name, 'v' || i, '2030-01-01'::timestamptz + i * interval '1 second', decode(repeat('00', 300), 'hex'),
				decode(md5((i % 4)::text || (i / 20000)::text), 'hex'), '\x0a', i % 20000 >= 19000 OR i % 97 = 0, date_trunc('day', '2030-01-01'::timestamptz + i * interval '1 minute', 'UTC'),
				'run-' || i / 10, 'a0'
			FROM generate_series(1, $1::integer) i JOIN artifact_names n ON n.name = CASE WHEN i % 2 = 0 THEN 'big' ELSE 'name-' || (1 + i % 1000) END`,
		`INSERT INTO artifact_labels (version_id, kind, key, value, project, domain, name_id, created_at)
			SELECT id, 1, 'region', CASE WHEN id <= $1::integer / 1000 THEN 'old' ELSE 'region-' || id % 4 END, project, domain, name_id, created_at FROM artifact_versions
			UNION ALL SELECT id, 2, 'owner', 'owner-' || id % 1000, project, domain, name_id, created_at FROM artifact_versions
			UNION ALL SELECT id, 2, 'rare', 'yes', project, domain, name_id, created_at FROM artifact_versions WHERE id % 100000 = 7`,
		`UPDATE artifact_names n SET versions = c.versions, latest_id = c.id, latest_at = c.at, latest_time_partition = c.day
			FROM (SELECT name_id, count(*) AS versions, max(id) AS id, max(created_at) AS at, max(time_partition) AS day FROM artifact_versions GROUP BY 1) c WHERE c.name_id = n.id`,
		`VACUUM ANALYZE`,
		`RESET statement_timeout`,
	} {
		var args []any
		if strings.Contains(statement, "$1") {
			args = []any{versions}
		}
		_, err := conn.Exec(tb.Context(), statement, args...)
		require.NoError(tb, err, statement)
	}
	tb.Logf("filled %d versions in %s", versions, time.Since(began).Round(time.Millisecond))
}

// listCases are the lists that clients ask for.
func listCases() map[string]func(ctx context.Context, s *store.Store) error {
	place := store.Place{Project: "p", Domain: "d"}
	filter := func(field, value string) *common.Filter {
		return &common.Filter{Function: common.Filter_EQUAL, Field: field, Values: []string{value}}
	}
	list := func(name string, latest bool, filters ...*common.Filter) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, _, err := s.List(ctx, store.ListScope{Place: place, Name: name, LatestPerPartition: latest}, &common.ListRequest{Limit: 100, Filters: filters})
			return err
		}
	}
	return map[string]func(context.Context, *store.Store) error{
		"all":                        list("", false),
		"name":                       list("big", false),
		"small name":                 list("name-2", false),
		"latest per partition":       list("big", true),
		"common label":               list("", false, filter("partition.region", "region-1")),
		"common label of a name":     list("big", false, filter("partition.region", "region-2")),
		"old label":                  list("", false, filter("partition.region", "old")),
		"rare label":                 list("", false, filter("user_metadata.rare", "yes")),
		"label that nothing has":     list("", false, filter("partition.region", "nowhere")),
		"two labels":                 list("big", false, filter("partition.region", "region-2"), filter("user_metadata.owner", "owner-2")),
		"two labels that never meet": list("", false, filter("partition.region", "region-1"), filter("user_metadata.owner", "owner-2")),
		"latest of one partition":    list("big", false, filter("time_partition", "2030-05-01T00:00:00Z"), filter("partition.region", "region-2")),
		"latest per partition of a month": list("big", true, &common.Filter{
			Function: common.Filter_GREATER_THAN_OR_EQUAL, Field: "time_partition", Values: []string{"2030-03-01T00:00:00Z"},
		}, &common.Filter{Function: common.Filter_LESS_THAN_OR_EQUAL, Field: "time_partition", Values: []string{"2030-03-31T00:00:00Z"}}),
		"day":        list("big", false, filter("time_partition", "2030-05-01T00:00:00Z")),
		"source run": list("", false, filter("source_run", "run-77")),
		"names": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.ListNames(ctx, place, &common.ListRequest{Limit: 100})
			return err
		},
		"metadata keys": func(ctx context.Context, s *store.Store) error {
			_, err := s.MetadataKeys(ctx, place, "", 1000)
			return err
		},
		"values": func(ctx context.Context, s *store.Store) error {
			_, err := s.PartitionValues(ctx, store.Name{Project: "p", Domain: "d", Name: "big"}, "region", nil, 100)
			return err
		},
	}
}

// scale is how many versions there are; FLYTE_BENCH_VERSIONS=1000000 has the million of the promise.
func scale(tb testing.TB, standard int) int {
	text := os.Getenv("FLYTE_BENCH_VERSIONS")
	if text == "" {
		return standard
	}
	n, err := strconv.Atoi(text)
	require.NoError(tb, err)
	return n
}

// BenchmarkListArtifacts measures a page of 100 of each list that clients ask for, and prints the 99th percentile.
func BenchmarkListArtifacts(b *testing.B) {
	pool := pgtest.Schemas(b, store.Schema())
	fill(b, pool, scale(b, 20_000))
	s := store.New(pool, clock.System{})
	cases := listCases()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		b.Run(name, func(b *testing.B) {
			took := make([]time.Duration, 0, 200)
			require.NoError(b, cases[name](b.Context(), s))
			for b.Loop() {
				began := time.Now()
				require.NoError(b, cases[name](b.Context(), s))
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// recorder records the statements that a pool runs.
type recorder struct{ last []pgx.TraceQueryStartData }

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.last = append(r.last, data)
	return ctx
}

func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestListsReadOnlyTheirPage: no list scans the versions or the labels, however many there are.
func TestListsReadOnlyTheirPage(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	fill(t, pool, 20_000)
	recorded := &recorder{}
	traced := pool.Config()
	traced.ConnConfig.Tracer = recorded
	tracedPool, err := pgxpool.NewWithConfig(t.Context(), traced)
	require.NoError(t, err)
	t.Cleanup(tracedPool.Close)
	s := store.New(tracedPool, clock.System{})
	for name, list := range listCases() {
		recorded.last = nil
		require.NoError(t, list(t.Context(), s))
		require.NotEmpty(t, recorded.last)
		for _, statement := range recorded.last {
			rows, err := pool.Query(t.Context(), "EXPLAIN "+statement.SQL, statement.Args...)
			require.NoError(t, err)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			plan := fmt.Sprint(lines)
			require.NotContains(t, plan, "Seq Scan on artifact_versions", "%s: %s", name, plan)
			require.NotContains(t, plan, "Seq Scan on artifact_labels", "%s: %s", name, plan)
		}
	}
}
