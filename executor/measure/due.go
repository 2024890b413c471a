package measure

import (
	"maps"
	"time"
)

// age is since when an attempt is known to run, and when it was measured last.
type age struct{ since, measured time.Time }

// first is the pause between two rounds.
func (m *Meter) first() time.Duration {
	if m.config.First == 0 {
		return m.config.Interval
	}
	return min(m.config.First, m.config.Interval)
}

// due are the pods that are measured now: every interval all of them, on all nodes. Between such rounds they are only those of attempts that
// started a short time ago, which may end before the next one: when they have run for a moment, and then whenever they have run twice as
// long. So whatever ends is measured for at least half of its time, and what runs on causes no reading of its node.
func (m *Meter) due(running []Pod) (due []Pod, whole bool) {
	now := m.deps.Clock.Now()
	began := m.whole.IsZero() // what runs already when this replica starts has no age
	whole = began || now.Sub(m.whole) >= m.config.Interval
	if whole {
		m.whole = now
	}
	chosen := make(map[Attempt]bool, len(running))
	for _, pod := range running {
		if _, decided := chosen[pod.Attempt]; decided {
			continue
		}
		known, found := m.ages[pod.Attempt]
		if !found {
			known = age{since: now, measured: now}
			if began {
				known.since = now.Add(-m.config.Interval)
			}
		}
		young := now.Sub(known.since) < m.config.Interval
		chosen[pod.Attempt] = whole || young && now.Sub(known.measured) >= max(m.first(), known.measured.Sub(known.since))
		if chosen[pod.Attempt] {
			known.measured = now
		}
		m.ages[pod.Attempt] = known
	}
	maps.DeleteFunc(m.ages, func(attempt Attempt, _ age) bool {
		_, runs := chosen[attempt]
		return !runs
	})
	for _, pod := range running {
		if chosen[pod.Attempt] {
			due = append(due, pod)
		}
	}
	return due, whole
}
