package storetest

import (
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// happen makes up the history of an action: its attempts, and how it ended, if it did.
func (s *scene) happen(i int) {
	row := &s.actions[i]
	parent := row.ShortName == rootTask || row.ShortName == shardTask
	switch {
	case row.ActionType == traceAction:
		s.trace(i)
	case row.ActionType == conditionAction:
		s.condition(i)
	case !parent && !s.goesOn[i] && s.random.IntN(10) == 0:
		s.cached(i)
	default:
		s.task(i, parent)
	}
}

func (s *scene) end(i int, attempt int32, phase common.ActionPhase, at time.Time, failure []byte) {
	s.event(i, attempt, phase, at, failure)
	row := &s.actions[i]
	row.EndedAt, row.Error = &at, failure
}

// by limits a time to Now.
func (s *scene) by(at time.Time) time.Time {
	if at.After(s.Now) {
		return s.Now
	}
	return at
}

func (s *scene) trace(i int) {
	row := &s.actions[i]
	row.StartedAt = &row.CreatedAt
	s.end(i, 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED, s.by(row.CreatedAt.Add(s.some(400*time.Millisecond))), nil)
}

func (s *scene) condition(i int) {
	row := &s.actions[i]
	row.StartedAt = &row.CreatedAt
	s.event(i, 1, common.ActionPhase_ACTION_PHASE_PAUSED, row.CreatedAt, nil)
	if s.goesOn[i] {
		s.actions[0].PausedCount++
		return
	}
	s.end(i, 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED, s.by(row.CreatedAt.Add(s.some(time.Minute))), nil)
}

func (s *scene) cached(i int) {
	row := &s.actions[i]
	row.CacheStatus = int16(core.CatalogCacheStatus_CACHE_HIT)
	s.event(i, 1, common.ActionPhase_ACTION_PHASE_QUEUED, row.CreatedAt, nil)
	s.end(i, 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED, s.by(row.CreatedAt.Add(s.some(50*time.Millisecond))), nil)
}

// task goes through one to three attempts; parents run for longer.
func (s *scene) task(i int, parent bool) {
	row := &s.actions[i]
	attempts := int32(1)
	if n := s.random.IntN(100); n < 10 && !parent {
		attempts += 1 + int32(n/8)
	}
	at, length := row.CreatedAt, s.some(9*time.Second)
	if parent {
		length = s.some(5 * time.Minute)
	}
	for attempt := int32(1); ; attempt++ {
		last := attempt == attempts
		steps := []struct {
			phase common.ActionPhase
			lasts time.Duration
		}{
			{common.ActionPhase_ACTION_PHASE_QUEUED, s.some(600 * time.Millisecond)},
			{common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, s.some(900 * time.Millisecond)},
			{common.ActionPhase_ACTION_PHASE_INITIALIZING, s.some(700 * time.Millisecond)},
			{common.ActionPhase_ACTION_PHASE_RUNNING, length},
		}
		if s.goesOn[i] && last && !parent {
			steps = steps[:1+s.random.IntN(len(steps))]
		}
		for _, step := range steps {
			s.event(i, attempt, step.phase, s.by(at), nil)
			at = at.Add(step.lasts)
		}
		switch {
		case !last:
			s.event(i, attempt, common.ActionPhase_ACTION_PHASE_FAILED, s.by(at), s.failure(i))
			at = at.Add(s.some(2 * time.Second))
		case s.goesOn[i]:
			if row := &s.actions[i]; row.Phase == int16(common.ActionPhase_ACTION_PHASE_QUEUED) {
				row.Hold = heldForEver
			}
			return
		default:
			if i == 0 {
				at = s.Now
			}
			phase, failure := s.outcome(i, parent)
			s.end(i, attempt, phase, s.by(at), failure)
			return
		}
	}
}

func (s *scene) outcome(i int, parent bool) (common.ActionPhase, []byte) {
	n := s.random.Float64()
	switch {
	case !parent && n < s.Failed*0.93:
		return common.ActionPhase_ACTION_PHASE_FAILED, s.failure(i)
	case !parent && n < s.Failed:
		return common.ActionPhase_ACTION_PHASE_TIMED_OUT, nil
	case !parent && n > 0.995:
		return common.ActionPhase_ACTION_PHASE_ABORTED, nil
	case !parent && n > 0.985:
		return common.ActionPhase_ACTION_PHASE_RECOVERED, nil
	default:
		return common.ActionPhase_ACTION_PHASE_SUCCEEDED, nil
	}
}
