package manager_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/policy"
	accessstore "github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// BenchmarkAccessAtScale calls a server that has a million bindings, 10,000 projects and 90,000 runs, as callers who may see
// some of the projects. It reports the times of a call and the processor time of this process, the client included, and of
// Postgres. The budget of a list is 20 ms at the 99th percentile, that of a decision 50 µs of processor time.
func BenchmarkAccessAtScale(b *testing.B) {
	config := testConfig(b)
	config.Access.Limits.RequestsPerSecond = 0
	pool, err := pgxpool.New(b.Context(), config.Database.URL)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	fillTenants(b, pool)
	server, err := manager.Complete(b.Context(), config, manager.Options{Logger: zerolog.Nop(), REST: nowhere(b), Authenticator: byName{}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Stop(context.WithoutCancel(b.Context()))) })
	b.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(b, server.Start(b.Context()))
	url := "http://" + server.Addr()

	for _, count := range []int{20, 999, 10_000} {
		caller := fmt.Sprint("sees-", count)
		b.Run(fmt.Sprintf("projects/%d", count), func(b *testing.B) {
			projects := projectconnect.NewProjectServiceClient(as(caller), url)
			reportCalls(b, pool, func() {
				list, err := projects.ListProjects(b.Context(), &project.ListProjectsRequest{Limit: 100})
				require.NoError(b, err)
				require.Len(b, list.GetProjects().GetProjects(), min(count, 100))
			})
		})
		for _, key := range []string{"created_at", "updated_at", "phase", "name", "duration_ms"} {
			b.Run(fmt.Sprintf("runs/%s/%d", key, count), func(b *testing.B) {
				runs := workflowconnect.NewRunServiceClient(as(caller), url)
				reportCalls(b, pool, func() {
					list, err := runs.ListRuns(b.Context(), &workflow.ListRunsRequest{
						Request: &common.ListRequest{Limit: 100, SortByFields: []*common.Sort{{Key: key}}},
						ScopeBy: &workflow.ListRunsRequest_Org{Org: "o"},
					})
					require.NoError(b, err)
					require.Len(b, list.GetRuns(), 100)
				})
			})
		}
		b.Run(fmt.Sprintf("decision/%d", count), func(b *testing.B) {
			decides := policy.New(policy.Config{}, policy.Deps{
				Source: accessstore.New(pool, clock.System{}), Changed: func() {}, Clock: clock.System{}, Logger: zerolog.Nop(),
			})
			identity := authz.Identity{Kind: authz.User, Subject: caller, Groups: []string{"a", "b", "c"}}
			reportDecisions(b, func() {
				_, err := decides.Authorise(b.Context(), identity, authz.Rule{Action: "run.view"},
					authz.Resource{Kind: "run", Project: "project-7", Domain: "development", Name: "r"})
				require.NoError(b, err)
			})
		})
	}
}

// fillTenants makes the projects, their runs and the bindings. The callers sees-N have a role in N projects each, the others
// in twenty.
func fillTenants(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	rows := storetest.DefaultConfig()
	rows.Children, rows.Wide = 0, 0
	require.NoError(b, storetest.Fill(b.Context(), pool, rows))
	require.NoError(b, storetest.Exec(b.Context(), pool,
		`UPDATE actions SET project = 'project-' || abs(hashtext(run_name)) % 10000 WHERE parent_name IS NULL`,
		`INSERT INTO projects (id, name, description, labels, state, created_at, updated_at)
			SELECT 'project-' || n, 'project-' || n, '', '{}', 0, now(), now() FROM generate_series(0, 9999) AS n ON CONFLICT DO NOTHING`,
		`INSERT INTO access_bindings (kind, member, role, project, domain, created_by, created_at)
			SELECT CASE WHEN n % 5 = 0 THEN 'group' ELSE 'user' END, 'member-' || n % 50000, 'viewer', 'project-' || n / 100, '', 'root', now()
			FROM generate_series(0, 988980) AS n`,
		`INSERT INTO access_bindings (kind, member, role, project, domain, created_by, created_at)
			SELECT 'user', 'sees-' || c, 'viewer', 'project-' || n, '', 'root', now()
			FROM unnest(ARRAY[20, 999, 10000]) AS c, LATERAL generate_series(0, c - 1) AS n`,
		`VACUUM ANALYZE actions`, `VACUUM ANALYZE projects`, `VACUUM ANALYZE access_bindings`))
	var bindings int
	require.NoError(b, pool.QueryRow(b.Context(), `SELECT count(*) FROM access_bindings`).Scan(&bindings))
	require.Equal(b, 1_000_000, bindings)
}

// reportCalls makes calls one after the other and reports what one takes.
func reportCalls(b *testing.B, pool *pgxpool.Pool, call func()) {
	b.Helper()
	for range 5 {
		call() // the connections exist, and the caller's bindings are known
	}
	var took []time.Duration
	before := storetest.CPUOf(b, pool)
	for b.Loop() {
		began := time.Now()
		call()
		took = append(took, time.Since(began))
	}
	after := storetest.CPUOf(b, pool)
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(milliseconds(after.Server-before.Server)/float64(len(took)), "server-CPU-ms")
	b.ReportMetric(milliseconds(after.Postgres-before.Postgres)/float64(len(took)), "postgres-CPU-ms")
}

// reportDecisions decides often, a thousand times in an iteration, and reports what one takes of the processor.
func reportDecisions(b *testing.B, decide func()) {
	b.Helper()
	const each = 1000
	decide() // the caller's bindings are known
	before, rounds := cpuTime(b), 0
	for b.Loop() {
		rounds++
		for range each {
			decide()
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1000/each/float64(rounds), "µs-CPU")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
