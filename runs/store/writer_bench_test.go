package store_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/state"
)

// BenchmarkBurst is a parent that enqueues 1,000 children at once, each acknowledged separately, on a Postgres that
// syncs; also children whose inputs are to be read for artifacts. It reports the longest waits, not the mean.
func BenchmarkBurst(b *testing.B) {
	b.Run("plain", func(b *testing.B) { burst(b, false) })
	b.Run("files", func(b *testing.B) { burst(b, true) })
}

func burst(b *testing.B, readInputs bool) {
	b.Helper()
	const children = 1000
	_, w := durable(b)
	w.create("warm", "up")
	var waits []time.Duration
	var total time.Duration
	for round := 0; b.Loop(); round++ {
		run := fmt.Sprint("r", round)
		w.create(run)
		took := make([]time.Duration, children)
		var wg sync.WaitGroup
		began := time.Now()
		for i := range children {
			wg.Go(func() {
				at := time.Now()
				child := newChild(run, "a0", fmt.Sprint("c", i))
				child.ReadInputs = readInputs
				require.NoError(b, w.RecordAction(b.Context(), child))
				took[i] = time.Since(at)
			})
		}
		wg.Wait()
		total += time.Since(began)
		waits = append(waits, took...)
	}
	report(b, waits, total)
}

// BenchmarkLife records, runs and finishes actions from 64 callers.
func BenchmarkLife(b *testing.B) {
	_, w := durable(b)
	w.dropIndexes()
	w.create("r")
	const callers, each = 64, 20
	var waits []time.Duration
	var total time.Duration
	wal := w.walBytes()
	for round := 0; b.Loop(); round++ {
		took := make([]time.Duration, callers*each)
		var wg sync.WaitGroup
		began := time.Now()
		for caller := range callers {
			wg.Go(func() {
				for i := range each {
					name := fmt.Sprintf("c-%d-%d-%d", round, caller, i)
					at := time.Now()
					w.child("r", "a0", name)
					w.report(to("r", name, 1, state.Initializing), to("r", name, 1, state.Running))
					w.report(to("r", name, 1, state.Succeeded))
					took[caller*each+i] = time.Since(at)
				}
			})
		}
		wg.Wait()
		total += time.Since(began)
		waits = append(waits, took...)
	}
	b.ReportMetric(float64(w.walBytes()-wal)/float64(len(waits)), "wal-B/action")
	report(b, waits, total)
}

// BenchmarkRuns creates, runs and finishes runs of one action from 64 callers: the rows that most indexes hold.
func BenchmarkRuns(b *testing.B) {
	_, w := durable(b)
	w.dropIndexes()
	w.create("warm")
	const callers, each = 64, 20
	var waits []time.Duration
	var total time.Duration
	wal := w.walBytes()
	for round := 0; b.Loop(); round++ {
		took := make([]time.Duration, callers*each)
		began := time.Now()
		forEach(callers, callers*each, func(i int) {
			run := fmt.Sprintf("r-%d-%d", round, i)
			at := time.Now()
			w.create(run)
			w.report(to(run, "a0", 1, state.Initializing), to(run, "a0", 1, state.Running))
			w.report(to(run, "a0", 1, state.Succeeded))
			took[i] = time.Since(at)
		})
		total += time.Since(began)
		waits = append(waits, took...)
	}
	b.ReportMetric(float64(w.walBytes()-wal)/float64(len(waits)), "wal-B/action")
	report(b, waits, total)
}

// dropIndexes drops the indexes named in FLYTE_BENCH_WITHOUT, separated by commas, to measure what they cost.
func (w *writing) dropIndexes() {
	for name := range strings.SplitSeq(os.Getenv("FLYTE_BENCH_WITHOUT"), ",") {
		if name != "" {
			_, err := w.pool.Exec(w.t.Context(), "DROP INDEX "+name)
			require.NoError(w.t, err)
		}
	}
}

// walBytes is how much WAL the server has written. Unlike times, it does not depend on other load of the machine.
func (w *writing) walBytes() int64 {
	return w.number(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn`)
}

func report(b *testing.B, waits []time.Duration, total time.Duration) {
	slices.Sort(waits)
	at := func(q float64) float64 {
		return float64(waits[int(q*float64(len(waits)-1))]) / float64(time.Millisecond)
	}
	b.ReportMetric(at(0.5), "ms-p50")
	b.ReportMetric(at(0.99), "ms-p99")
	b.ReportMetric(float64(len(waits))/total.Seconds(), "actions/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOneByOne is the latency of a single change on an idle writer.
func BenchmarkOneByOne(b *testing.B) {
	_, w := durable(b)
	w.create("r")
	var waits []time.Duration
	began := time.Now()
	for i := 0; b.Loop(); i++ {
		at := time.Now()
		w.child("r", "a0", fmt.Sprint("c", i))
		waits = append(waits, time.Since(at))
	}
	report(b, waits, time.Since(began))
}
