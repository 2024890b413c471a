package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/store/deletions"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// BenchmarkWriterBesideRetention measures how long recording an action takes while a run of 50,000 actions is
// deleted, and how long the deletion takes.
func BenchmarkWriterBesideRetention(b *testing.B) {
	for _, deleting := range []bool{false, true} {
		b.Run(fmt.Sprintf("deleting=%v", deleting), func(b *testing.B) {
			w := newWriting(b)
			config := storetest.DefaultConfig()
			config.Project, config.Domain, config.Runs, config.Wide, config.Events = "p", "d", 0, 50_000, 3
			require.NoError(b, storetest.Fill(b.Context(), w.pool, config))
			keeper := deletions.New(deletions.Deps{Pool: w.pool, Replica: "test"})
			var wide int64
			require.NoError(b, w.pool.QueryRow(b.Context(), `UPDATE actions SET phase = 5, ended_at = now() WHERE name = 'a0' RETURNING id`).Scan(&wide))
			w.create("busy")
			done, rows := make(chan struct{}), 0
			began := time.Now()
			if deleting {
				marked, err := keeper.Mark(b.Context(), wide, time.Now())
				require.NoError(b, err)
				require.True(b, marked)
				go func() {
					defer close(done)
					for {
						n, err := keeper.DeleteRows(b.Context(), wide, 500)
						if err != nil || n == 0 {
							return
						}
						rows += n
						if _, err := keeper.SweepSpecs(b.Context(), 100); err != nil {
							return
						}
						<-time.After(20 * time.Millisecond)
					}
				}()
			} else {
				close(done)
			}
			var took []time.Duration
			for i := 0; ; i++ {
				start := time.Now()
				require.NoError(b, w.RecordAction(b.Context(), newChild("busy", "a0", fmt.Sprint("c", i))))
				took = append(took, time.Since(start))
				if i >= 2000 {
					select {
					case <-done:
					default:
						continue
					}
					break
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-us")
			if deleting {
				b.ReportMetric(float64(rows)/time.Since(began).Seconds(), "rows/s")
			}
		})
	}
}
