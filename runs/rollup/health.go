package rollup

import (
	"math"
	"time"

	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

// leastToCompare is how many durations a week needs for a comparison: a single slow run does not make a trend.
const leastToCompare = 3

// Health implements rollups.Sums.
func (*sums) Health(today time.Time, days []rollups.TaskDay, used []rollups.Priced, h *rollups.Health) error {
	first := today.AddDate(0, 0, 1-rollups.Window)
	now, before := durations{}, durations{}
	h.Succeeded, h.Failed, h.Aborted, h.Hits, h.Misses, h.Earlier = 0, 0, 0, 0, 0, 0
	for i := range days {
		d := &days[i]
		counted, err := decodeDurations(d.Durations)
		if err != nil {
			return err
		}
		if d.Day.Before(first) {
			h.Earlier += d.Succeeded + d.Failed + d.Aborted
			before.merge(counted)
			continue
		}
		h.Succeeded, h.Failed, h.Aborted = h.Succeeded+d.Succeeded, h.Failed+d.Failed, h.Aborted+d.Aborted
		now.merge(counted)
		for kind, count := range d.Cache {
			if Cached(kind) == Hit {
				h.Hits += count
			} else {
				h.Misses += count
			}
		}
	}
	h.P50, h.P90 = quantiles(now)
	h.P50Before, h.P90Before = quantiles(before)
	h.ChangeP50, h.ChangeP90 = rollups.NoChange, rollups.NoChange
	if now.total() >= leastToCompare && before.total() >= leastToCompare {
		h.ChangeP50, h.ChangeP90 = change(h.P50, h.P50Before), change(h.P90, h.P90Before)
	}
	h.FailureRate, h.HitRate = rate(h.Failed, h.Succeeded), rate(h.Hits, h.Misses)
	h.Use = rollups.Use{}
	for _, one := range used {
		h.Use = h.Use.Plus(one.Use)
	}
	return nil
}

func quantiles(d durations) (p50, p90 int64) {
	p50, known := d.quantile(0.5)
	if !known {
		return rollups.NoTime, rollups.NoTime
	}
	p90, _ = d.quantile(0.9)
	return p50, p90
}

// change is by how many thousandths a duration is longer than it was. Durations below a millisecond count as one.
func change(now, before int64) int32 {
	thousandths := 1000 * (float64(max(now, 1))/float64(max(before, 1)) - 1)
	return int32(max(-1000, min(thousandths, math.MaxInt32/2)))
}

// rate is the share in thousandths.
func rate(part, rest int32) int32 {
	if part+rest == 0 {
		return rollups.NoRate
	}
	return int32(1000 * int64(part) / int64(part+rest)) //nolint:gosec // at most 1000
}
