package rollout

import (
	"math"
	"time"
)

// defaultConcurrency is how many requests a replica should have in flight if the declaration names no metric.
const defaultConcurrency = 100

// scale sets the replicas of the serving revision. More are wanted at once, fewer after a time of calm.
func (s *State) scale(in Input) {
	if s.Serving.Number == 0 {
		return
	}
	if s.Serving.Number == in.Newest.Number {
		s.Serving = in.Newest
	}
	scale, most := s.Serving.Scale, s.most(in)
	least := min(scale.Min, most)
	if s.Replicas < least {
		s.rise(in.Now, least)
	}
	s.Replicas = min(s.Replicas, most)
	if in.Wake {
		s.wake(in)
	}
	if in.Load == nil {
		return
	}
	if at := in.Load.BusyAt; at.After(s.CalmSince) && !at.After(in.Now) && s.Replicas > 0 {
		s.CalmSince = at
	}
	need := max(least, min(in.Load.need(scale), most))
	switch {
	case need > s.Replicas:
		s.FromZero = s.Replicas == 0
		s.rise(in.Now, need)
	case need == s.Replicas:
		if s.Replicas > least {
			s.stay(in.Now, scale.Calm)
		}
	case in.Now.Sub(s.CalmSince) >= scale.Calm:
		s.rise(in.Now, s.peak(need))
	default:
		s.Peak = s.peak(need)
	}
}

// peak is how many replicas were needed at most in a time of calm. All of them means that none was noted yet.
func (s *State) peak(need uint32) uint32 {
	if s.Peak >= s.Replicas {
		return need
	}
	return max(need, s.Peak)
}

// most is the largest number of replicas.
func (s *State) most(in Input) uint32 {
	if s.exclusive(in) {
		return 1
	}
	return max(1, s.Serving.Scale.Max)
}

// wake gives a sleeping app its first replica, and keeps one that is awake so.
func (s *State) wake(in Input) {
	if s.Replicas == 0 {
		s.rise(in.Now, 1)
		s.FromZero, s.UnreadySince, s.Broken = true, in.Now, nil
		return
	}
	s.stay(in.Now, s.Serving.Scale.Calm)
}

// stay notes that all replicas are needed now. It is coarse, since each note is a write.
func (s *State) stay(now time.Time, calm time.Duration) {
	if now.Sub(s.CalmSince) >= max(calm/10, time.Second) || now.Sub(s.CalmSince) >= calm {
		s.CalmSince, s.Peak = now, s.Replicas
	}
}

// need is how many replicas a load takes.
func (l Load) need(scale Scale) uint32 {
	var need float64
	if l.Busy {
		need = 1
	}
	switch {
	case scale.Concurrency > 0:
		need = max(need, math.Ceil(l.Concurrency/float64(scale.Concurrency)))
	case scale.Rate > 0:
		need = max(need, math.Ceil(l.Rate/float64(scale.Rate)))
	default:
		need = max(need, math.Ceil(l.Concurrency/defaultConcurrency))
	}
	if !(need < math.MaxUint32) { // also if it is not a number
		return math.MaxUint32
	}
	return uint32(need)
}
