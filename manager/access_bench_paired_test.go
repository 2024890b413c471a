package manager_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

// settling is for how long the work that calls leave behind counts as theirs: the chain of the record is written once a second.
const settling = 1500 * time.Millisecond

// cost is what the calls of a round take.
type cost struct {
	time time.Duration // until the last one is answered
	cpu  time.Duration // of this process, its clients included, and of Postgres, until the round has settled
	wal  int64         // bytes that Postgres writes ahead, until the round has settled
}

func (c cost) plus(d cost) cost { return cost{c.time + d.time, c.cpu + d.cpu, c.wal + d.wal} }

// measure makes the calls of a round, and waits until all work that they cause is done, so that no other round pays for it.
func measure(b *testing.B, postgres *pgembed.Server, m *measured, k kind, names string) (c cost) {
	b.Helper()
	events := m.recorded(b) + k.events*k.calls
	runtime.GC() // each round pays for its own garbage alone
	wal, own, children, began := m.wal(b), cpuTime(b), cpuOfChildren(b, postgres.Pid()), time.Now()
	k.make(b, m, names)
	answered := time.Now()
	require.Eventually(b, func() bool { return m.recorded(b) >= events && time.Since(answered) > settling }, time.Minute, 50*time.Millisecond)
	c = cost{time: answered.Sub(began), cpu: cpuTime(b) - own, wal: m.wal(b) - wal}
	for pid, used := range cpuOfChildren(b, postgres.Pid()) {
		c.cpu += used - children[pid]
	}
	return c
}

// wal is how many bytes Postgres has written ahead.
func (m *measured) wal(b *testing.B) (bytes int64) {
	b.Helper()
	require.NoError(b, m.db.QueryRow(b.Context(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&bytes))
	return bytes
}

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// cpuOfChildren is the processor time of each child of a process that runs now. Unlike /proc/PID/stat, it does not count in hundredths
// of a second.
func cpuOfChildren(b *testing.B, parent int) map[string]time.Duration {
	b.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	require.NoError(b, err)
	used := map[string]time.Duration{}
	for _, pid := range strings.Fields(string(children)) {
		text, err := os.ReadFile("/proc/" + pid + "/schedstat")
		if err != nil {
			continue // it has ended
		}
		run, _, _ := strings.Cut(string(text), " ")
		nanoseconds, err := strconv.ParseInt(run, 10, 64)
		require.NoError(b, err)
		used[pid] = time.Duration(nanoseconds)
	}
	return used
}

// pair is what the rounds of one iteration take, without access and with it.
type pair struct{ off, on cost }

// report prints what a call takes without access and with it, and by how many percent it takes more: the median of the ratios of the
// pairs, and the interval that has the true one with a probability of 95 %.
func report(b *testing.B, what, unit string, calls int, pairs []pair, of func(cost) float64) {
	b.Helper()
	var without, with, ratios []float64
	for _, p := range pairs {
		off, on := of(p.off)/float64(calls), of(p.on)/float64(calls)
		without, with, ratios = append(without, off), append(with, on), append(ratios, 100*(on/off-1))
	}
	low, high := interval(ratios)
	b.Logf("%s of a call: %.0f %s without access, %.0f with it: %.1f %% more (%.1f to %.1f)", what, median(without), unit, median(with), median(ratios), low, high)
	b.ReportMetric(median(ratios), what+"-%more")
}

// interval is the interval of the median, by the bootstrap: from the medians of samples drawn from the values with replacement.
func interval(values []float64) (low, high float64) {
	const samples = 10_000
	random := rand.New(rand.NewPCG(1, 1)) // the same for the same values
	medians, sample := make([]float64, samples), make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[random.IntN(len(values))]
		}
		medians[i] = median(sample)
	}
	slices.Sort(medians)
	return medians[samples*25/1000], medians[samples*975/1000]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}
