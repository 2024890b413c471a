package lists_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// listCase is one list request as clients send it.
type listCase struct {
	name string
	run  func(ctx context.Context, r *lists.Reader) error
}

func listCases(c storetest.Config) []listCase {
	scope := lists.RunScope{Project: c.Project, Domain: c.Domain}
	newest, oldest := &common.Sort{Key: "created_at"}, &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING}
	filter := func(function common.Filter_Function, field string, values ...string) *common.Filter {
		return &common.Filter{Function: function, Field: field, Values: values}
	}
	end := c.Start.Add(c.Span)
	runs := func(name string, scope lists.RunScope, sort *common.Sort, filters ...*common.Filter) listCase {
		return listCase{"runs/" + name, func(ctx context.Context, r *lists.Reader) error {
			_, _, err := r.ListRuns(ctx, scope, &common.ListRequest{Limit: 100, SortBy: sort, Filters: filters})
			return err
		}}
	}
	actions := func(name, run string, sort *common.Sort, filters ...*common.Filter) listCase {
		return listCase{"actions/" + name, func(ctx context.Context, r *lists.Reader) error {
			id := ident.Run{Project: c.Project, Domain: c.Domain, Name: run}
			_, _, err := r.ListActions(ctx, id, &common.ListRequest{Limit: 100, SortBy: sort, Filters: filters})
			return err
		}}
	}
	paused := scope
	paused.PausedOnly = true
	taskScope := scope
	taskScope.TaskName = "env.task-7"
	return []listCase{
		runs("default", scope, nil),
		runs("all projects", lists.RunScope{}, nil),
		runs("oldest", scope, oldest),
		runs("updated", scope, &common.Sort{Key: "updated_at"}),
		runs("phase failed oldest", scope, oldest, filter(common.Filter_EQUAL, "phase", "6")),
		runs("phase failed newest", scope, newest, filter(common.Filter_EQUAL, "phase", "6")),
		runs("phase running oldest", scope, oldest, filter(common.Filter_EQUAL, "phase", "4")),
		runs("phase in running queued oldest", scope, oldest, filter(common.Filter_VALUE_IN, "phase", "1", "4")),
		runs("phase in running failed newest", scope, newest, filter(common.Filter_VALUE_IN, "phase", "4", "6")),
		runs("phase none oldest", scope, oldest, filter(common.Filter_EQUAL, "phase", "8")),
		runs("owner oldest", scope, oldest, filter(common.Filter_EQUAL, "created_by", "user-3")),
		runs("owner unknown", scope, oldest, filter(common.Filter_EQUAL, "created_by", "nobody")),
		runs("owner and phase", scope, oldest, filter(common.Filter_EQUAL, "created_by", "user-3"), filter(common.Filter_EQUAL, "phase", "6")),
		runs("task oldest", scope, oldest, filter(common.Filter_EQUAL, "task_name", "env.task-7")),
		runs("task scope", taskScope, nil),
		runs("task and version", scope, oldest, filter(common.Filter_EQUAL, "task_name", "env.task-7"), filter(common.Filter_EQUAL, "task_version", "v57")),
		runs("task and unknown version", scope, oldest, filter(common.Filter_EQUAL, "task_name", "env.task-7"), filter(common.Filter_EQUAL, "task_version", "none")),
		runs("version alone", scope, oldest, filter(common.Filter_EQUAL, "task_version", "v57")),
		runs("unknown version alone", scope, oldest, filter(common.Filter_EQUAL, "task_version", "none")),
		runs("created after oldest", scope, oldest, filter(common.Filter_GREATER_THAN_OR_EQUAL, "created_at", end.Add(-time.Hour).Format(time.RFC3339))),
		runs("created between newest", scope, newest, filter(common.Filter_GREATER_THAN_OR_EQUAL, "created_at", end.Add(-48*time.Hour).Format(time.RFC3339)), filter(common.Filter_LESS_THAN, "created_at", end.Add(-24*time.Hour).Format(time.RFC3339))),
		runs("updated after oldest", scope, oldest, filter(common.Filter_GREATER_THAN_OR_EQUAL, "updated_at", end.Add(-6*time.Hour).Format(time.RFC3339))),
		runs("updated before newest", scope, newest, filter(common.Filter_LESS_THAN, "updated_at", c.Start.Add(6*time.Hour).Format(time.RFC3339))),
		runs("label common", scope, oldest, filter(common.Filter_EQUAL, "labels.team", "t3")),
		runs("label rare", scope, oldest, filter(common.Filter_EQUAL, "labels.rare", "yes")),
		runs("label unknown", scope, oldest, filter(common.Filter_EQUAL, "labels.team", "nobody")),
		runs("label key common", scope, oldest, filter(common.Filter_EXISTS, "labels.team")),
		runs("label key rare", scope, oldest, filter(common.Filter_EXISTS, "labels.rare")),
		runs("label key unknown", scope, oldest, filter(common.Filter_EXISTS, "labels.nothing")),
		runs("cluster rare", scope, oldest, filter(common.Filter_EQUAL, "cluster", "east")),
		runs("cluster and phase", scope, newest, filter(common.Filter_EQUAL, "cluster", "east"), filter(common.Filter_EQUAL, "phase", "6")),
		runs("clusters", scope, newest, filter(common.Filter_VALUE_IN, "cluster", "east", "west")),
		runs("cluster default", scope, oldest, filter(common.Filter_EQUAL, "cluster", "default")),
		runs("paused", paused, oldest),
		runs("name or task common", scope, newest, filter(common.Filter_CONTAINS_CASE_INSENSITIVE, "name_or_task", "r5")),
		runs("name or task unknown", scope, newest, filter(common.Filter_CONTAINS_CASE_INSENSITIVE, "name_or_task", "nothing")),
		runs("made from a run", scope, nil, filter(common.Filter_EQUAL, "related_to", "r5")),
		actions("run of ten", "r77", oldest),
		actions("wide", "wide", oldest),
		actions("wide newest", "wide", newest),
		actions("wide failed", "wide", oldest, filter(common.Filter_EQUAL, "phase", "6")),
		actions("wide running", "wide", oldest, filter(common.Filter_EQUAL, "phase", "4")),
		actions("wide parent", "wide", oldest, filter(common.Filter_EQUAL, "parent_name", "a0")),
		actions("wide conditions", "wide", nil, filter(common.Filter_EQUAL, "action_type", "3")),
	}
}

// measure runs each case many times and reports the minimum, median and maximum in milliseconds.
func measure(b *testing.B, reader *lists.Reader, cases []listCase) {
	b.Helper()
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				began := time.Now()
				require.NoError(b, c.run(b.Context(), reader))
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[0].Microseconds())/1000, "min-ms") // the cost without contention for the cores
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkLists measures the list requests of clients.
func BenchmarkLists(b *testing.B) {
	pool, config := storetest.Seeded(b, storetest.SeedScale(b, 20))
	reader := lists.NewReader(pool)
	measure(b, reader, listCases(config))
	deep := deepToken(b, reader, config)
	b.Run("runs/deep page", func(b *testing.B) {
		for b.Loop() {
			_, _, err := reader.ListRuns(b.Context(), lists.RunScope{Project: config.Project, Domain: config.Domain}, &common.ListRequest{Limit: 100, Token: deep})
			require.NoError(b, err)
		}
	})
}

// deepToken reads pages for a while and returns the last token.
func deepToken(tb testing.TB, reader *lists.Reader, config storetest.Config) string {
	tb.Helper()
	token := ""
	for page := range min(100, config.Runs/200-1) {
		_, next, err := reader.ListRuns(tb.Context(), lists.RunScope{Project: config.Project, Domain: config.Domain},
			&common.ListRequest{Limit: 200, Token: token})
		require.NoError(tb, err)
		require.NotEmpty(tb, next, fmt.Sprintf("page %d", page))
		token = next
	}
	return token
}
