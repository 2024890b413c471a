package precedence

import (
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// window is the shortest time over which waits are judged. The runtime samples one in eight of them: some dozens in this time.
	window = 20 * time.Millisecond
	// stale is when a reading is too old to judge the present by what happened since.
	stale = 250 * time.Millisecond
	// calm is how long waits must have been short before the processors count as free. Work that is let in between two waves of calls
	// costs more than many waves do.
	calm = 200 * time.Millisecond
	// long is a wait for a processor, in seconds, as it occurs only if all are used: on an idle machine even the longest waits are
	// some 100 µs.
	long = 0.001
	// longShare is the share of long waits from which processors are short.
	longShare = 0.02
)

// Scheduler tells from the waits that Go's scheduler measures whether goroutines wait for a processor. The processors may be used by
// this process, or by others on the same machine.
type Scheduler struct {
	clock clock.Clock
	read  func() (counts []uint64, bounds []float64)

	mu    sync.Mutex
	at    time.Time // GUARDED_BY(mu): of the last reading
	waits waits     // GUARDED_BY(mu): until then
	last  time.Time // GUARDED_BY(mu): the end of the last window with long waits
	short bool      // GUARDED_BY(mu): the verdict since the last reading
}

// waits are counts since the start of the process.
type waits struct{ all, long uint64 }

// NewScheduler watches the scheduler of this process.
func NewScheduler(clk clock.Clock) *Scheduler {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	return &Scheduler{clock: clk, read: func() ([]uint64, []float64) {
		metrics.Read(sample)
		h := sample[0].Value.Float64Histogram()
		return h.Counts, h.Buckets
	}}
}

// Short implements Processors. It reads at most once in a window; without a recent reading, it assumes that they are short until the
// next one tells.
func (s *Scheduler) Short() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	age := now.Sub(s.at)
	if age >= 0 && age < window {
		return s.short
	}
	read := s.waitsUntilNow()
	since := waits{all: read.all - s.waits.all, long: read.long - s.waits.long}
	s.at, s.waits = now, read
	unknown := age < 0 || age >= stale
	if !unknown && float64(since.long) > longShare*float64(since.all) {
		s.last = now
	}
	quiet := now.Sub(s.last)
	s.short = unknown || quiet >= 0 && quiet < calm
	return s.short
}

func (s *Scheduler) waitsUntilNow() (w waits) {
	counts, bounds := s.read()
	first, _ := slices.BinarySearch(bounds, long) // bounds[i] is the lower bound of counts[i]
	for i, n := range counts {
		w.all += n
		if i >= first {
			w.long += n
		}
	}
	return w
}
