package lists_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// BenchmarkNarrowed lists and searches in an installation with 10,000 projects as a caller who may see some of them, and
// reports the 99th percentile. The budget is 20 ms.
func BenchmarkNarrowed(b *testing.B) {
	pool, _ := storetest.SeededWith(b, 10, "tenants",
		`UPDATE actions SET project = 'project-' || abs(hashtext(run_name)) % 10000 WHERE parent_name IS NULL`,
		`INSERT INTO projects (id, name, description, labels, state, created_at, updated_at)
			SELECT 'project-' || n, 'project-' || n, '', '{}', 0, now(), now() FROM generate_series(0, 9999) AS n ON CONFLICT DO NOTHING`,
		`VACUUM ANALYZE actions`, `VACUUM ANALYZE projects`)
	reader, projects := lists.NewReader(pool), catalog.NewProjects(pool)
	for _, count := range []int{1, 20, 500, 999, 10_000} {
		var scope authz.Scope
		for i := range count {
			scope.Places = append(scope.Places, authz.Place{Project: fmt.Sprint("project-", i)})
		}
		ctx := authz.WithScope(b.Context(), scope)
		by := func(key string) func() error {
			return func() error {
				_, _, err := reader.ListRuns(ctx, lists.RunScope{}, &common.ListRequest{Limit: 100, SortBy: &common.Sort{Key: key}})
				return err
			}
		}
		for name, list := range map[string]func() error{
			"runs":             by("created_at"),
			"runs by update":   by("updated_at"),
			"runs by phase":    by("phase"),
			"runs by name":     by("name"),
			"runs by task":     by("task_name"),
			"runs by duration": by("duration_ms"),
			"runs by end":      by("ended_at"),
			"projects":         func() error { _, _, err := projects.List(ctx, "", &common.ListRequest{Limit: 100}); return err },
			"search":           func() error { _, err := reader.Search(ctx, "run-1", 20); return err },
		} {
			b.Run(fmt.Sprintf("%s of %d projects", name, count), func(b *testing.B) {
				require.NoError(b, list()) // the connection exists
				var took []time.Duration
				before := storetest.CPUOf(b, pool)
				for b.Loop() {
					began := time.Now()
					require.NoError(b, list())
					took = append(took, time.Since(began))
				}
				after := storetest.CPUOf(b, pool)
				slices.Sort(took)
				each := func(used time.Duration) float64 { return float64(used.Microseconds()) / 1000 / float64(len(took)) }
				b.ReportMetric(each(after.Server-before.Server), "server-CPU-ms")
				b.ReportMetric(each(after.Postgres-before.Postgres), "postgres-CPU-ms")
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}
