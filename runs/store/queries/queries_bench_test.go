package queries_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// typical are queries of every key: common values, rare ones and such that nothing has.
var typical = []string{
	"", "task-7", "r5", "nothing-has-this", "name=r77", "name:77", "task=env.task-7", "task=none", "version:v57", "version:none",
	"phase:failed", "phase:timed-out", "phase:failed,timed-out,aborted", "phase:running,queued", "phase:succeeded", "is:active", "is:paused", "is:ended",
	"source:web", "source:cli", "trigger:none", "error:KeyError", "owner:user-3", "owner:nobody", "owner:user-1,user-2", "label:team=t3", "label:rare=yes",
	"label:team=nobody", "label:nothing", "label:team", "cluster:east", "cluster:default", "queue:gpu", "duration>5m", "duration<20s", "created>24h", "until:2026-01-02",
	"started<2026-01-02", "ended>2026-01-30", "updated<2026-01-02", "owner:user-3 phase:failed", "phase:failed -label:team=t3 or owner:user-3",
	"-phase:succeeded", "(phase:failed or phase:aborted) task:task-7 duration>1h", "label:rare=yes phase:failed", "-label:rare=yes -source:cli",
}

// BenchmarkQueries measures first pages and counts.
func BenchmarkQueries(b *testing.B) {
	pool, config := storetest.Seeded(b, storetest.SeedScale(b, 20))
	reader := queries.NewReader(pool)
	scope, end := schema.Scope{Project: config.Project, Domain: config.Domain}, config.Start.Add(config.Span)
	for _, order := range []queries.Order{queries.Newest, queries.Oldest, queries.Updated, queries.Longest} {
		for _, text := range typical {
			node, err := query.Parse(text)
			require.NoError(b, err)
			ask := queries.Ask{Scope: scope, Query: node, Text: text, Order: order, Limit: 100, Now: end}
			b.Run(order.Field+"/"+text, func(b *testing.B) {
				measure(b, func() { _, err = reader.Find(b.Context(), ask) })
				require.NoError(b, err)
			})
			if order == queries.Newest {
				b.Run("count/"+text, func(b *testing.B) {
					measure(b, func() { _, _, err = reader.Count(b.Context(), ask, 1000) })
					require.NoError(b, err)
				})
			}
		}
	}
}

func measure(b *testing.B, run func()) {
	b.Helper()
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		began := time.Now()
		run()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[0].Microseconds())/1000, "min-ms") // the cost without contention for the cores
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
