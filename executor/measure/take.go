package measure

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

// maxPending is how many points of an attempt are kept while they cannot be reported.
const maxPending = 240

// take adds a point to each attempt whose pods have new measurements. A pod whose node has none counts as it was measured last.
func (m *Meter) take(ctx context.Context, due []Pod, all map[string]usage) {
	now, fresh := m.deps.Clock.Now(), map[Attempt]bool{}
	for _, pod := range due {
		found, measured := all[pod.UID]
		if !measured {
			found, measured = all[pod.Namespace+"/"+pod.Name]
		}
		if !measured {
			continue
		}
		one := m.pods[pod.UID]
		if one == nil {
			one = &followed{attempt: pod.Attempt}
			m.pods[pod.UID] = one
		}
		if found.at.After(one.last.at) {
			m.learn(ctx, pod, one)
			one.follow(found, now, m.config.Interval)
			fresh[pod.Attempt] = true
		}
	}
	sums := make(map[Attempt]*sum, len(fresh))
	for _, pod := range due {
		one := m.pods[pod.UID]
		if one == nil || !fresh[pod.Attempt] || now.Sub(one.read) > 2*m.config.Interval {
			continue
		}
		if sums[pod.Attempt] == nil {
			sums[pod.Attempt] = &sum{}
		}
		sums[pod.Attempt].add(one)
	}
	m.samples.Add(ctx, int64(len(sums)))
	asked := m.asked()
	for attempt, total := range sums {
		known := m.usages[attempt]
		if known == nil {
			known = &curve{since: total.since}
			m.usages[attempt] = known
		}
		known.asks = asked[attempt]
		known.points = append(known.points, &insightv1.UsagePoint{At: timestamppb.New(total.at), Used: total.amounts()})
		if extra := len(known.points) - maxPending; extra > 0 {
			known.points, known.since = known.points[extra:], time.Time{}
		}
	}
}

// follow takes a measurement that is newer than the last one. The first one of a pod that started a short time ago covers all of its life;
// of another, who knows what measured it before.
func (f *followed) follow(now usage, read time.Time, interval time.Duration) {
	before := f.last
	f.since = time.Time{}
	if life := now.at.Sub(now.since); before.at.IsZero() && !now.since.IsZero() && life > 0 && life <= 2*interval {
		f.since = now.since
		before = usage{at: now.since, total: new(uint64)}
	}
	f.cpu, f.last, f.read = rate(before, now), now, read
}

// sum is a point of an attempt, summed over its pods.
type sum struct {
	at, since time.Time
	cpu       *uint64 // thousandths of a core
	usage     usage
}

func (s *sum) add(one *followed) {
	now := one.last
	s.at = later(s.at, now.at)
	if !one.since.IsZero() && (s.since.IsZero() || one.since.Before(s.since)) {
		s.since = one.since
	}
	add(&s.cpu, one.cpu)
	add(&s.usage.memory, now.memory)
	add(&s.usage.disk, now.disk)
	add(&s.usage.gpu, now.gpu)
	add(&s.usage.gpuMemory, now.gpuMemory)
}

func (s *sum) amounts() *insightv1.Amounts {
	return &insightv1.Amounts{
		CpuMilli: s.cpu, MemoryBytes: s.usage.memory, DiskBytes: s.usage.disk, GpuPercent: s.usage.gpu, GpuMemoryBytes: s.usage.gpuMemory,
	}
}

// rate is how many thousandths of a core a pod used between two measurements, exactly where both have a total. A container
// that started again begins at 0.
func rate(before, now usage) *uint64 {
	if before.total != nil && now.total != nil && *now.total >= *before.total {
		if span := now.at.Sub(before.at); span > 0 {
			value := uint64(float64(*now.total-*before.total)/float64(span)*1000 + 0.5)
			return &value
		}
	}
	if now.rate == nil {
		return nil
	}
	value := (*now.rate + 500_000) / 1_000_000
	return &value
}
