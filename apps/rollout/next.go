package rollout

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Next decides again. It is a function of its arguments alone, and the same arguments twice change nothing more.
func Next(before State, in Input) State {
	s := before
	s.clamp(in.Now)
	if s.Silent && in.Silence == "" {
		s.restartClocks(in.Now) // what a silent cluster could not do is not a failure
	}
	s.Silent = in.Silence != ""
	switch {
	case in.Stopped:
		s.stop(in)
	case s.Stopped:
		s.start(in)
	case s.Newest != in.Newest.Number:
		s.try(in)
	}
	s.Newest = in.Newest.Number
	if !s.Stopped {
		s.judgeTrial(in)
		s.scale(in)
		s.judgeServing(in)
		if s.Draining != 0 && !in.Now.Before(s.DrainUntil) {
			s.Draining, s.DrainingReplicas, s.DrainUntil = 0, 0, time.Time{}
		}
	}
	s.Want, s.Route = s.wants(in)
	s.Condition = s.condition(in)
	s.NextAt = s.next(in)
	return s
}

// clamp removes times of the future: the clock was set back.
func (s *State) clamp(now time.Time) {
	for _, t := range []*time.Time{&s.TrialSince, &s.CalmSince, &s.UnreadySince, &s.StoppedSince} {
		if t.After(now) {
			*t = now
		}
	}
}

func (s *State) restartClocks(now time.Time) {
	if s.Trial {
		s.TrialSince = now
	}
	if !s.UnreadySince.IsZero() {
		s.UnreadySince = now
	}
}

func (s *State) stop(in Input) {
	if s.Stopped {
		return
	}
	*s = State{Serving: s.Serving, Stopped: true, StoppedSince: in.Now, Silent: s.Silent}
}

func (s *State) start(in Input) {
	s.Stopped, s.StoppedSince = false, time.Time{}
	if s.Serving.Number != in.Newest.Number {
		s.try(in)
		if s.Serving.Number != 0 {
			s.rise(in.Now, max(1, s.Serving.Scale.Min))
		}
		return
	}
	s.Serving = in.Newest
	s.rise(in.Now, max(1, s.Serving.Scale.Min))
	s.UnreadySince = in.Now
}

// try puts the newest revision on trial.
func (s *State) try(in Input) {
	s.Trial, s.TrialSince, s.TrialVersion, s.Failure = true, in.Now, in.Version+1, nil
}

// rise sets the replicas of the serving revision, which are needed from now on.
func (s *State) rise(now time.Time, replicas uint32) {
	s.Replicas, s.Peak, s.CalmSince = replicas, replicas, now
}

func (s *State) judgeTrial(in Input) {
	if !s.Trial {
		return
	}
	seen := in.Observed[in.Newest.Number]
	if seen.Ready > 0 {
		s.promote(in)
		return
	}
	if s.Failure != nil {
		return
	}
	problem := seen.Problem
	if in.Applied > 0 && in.Applied < s.TrialVersion {
		problem = nil // of an earlier start
	}
	switch {
	case problem != nil && problem.Permanent:
		s.Failure = &Failure{problem.Substate, problem.Message}
	case s.Silent || in.Now.Sub(s.TrialSince) < in.Limits.Start:
		return
	case problem != nil:
		s.Failure = &Failure{problem.Substate, sentence.Say("no replica was ready within %s: %s", in.Limits.Start, problem.Message)}
	default:
		s.Failure = &Failure{0, sentence.Say("no replica was ready within %s", in.Limits.Start)}
	}
	if s.Serving.Number != 0 {
		s.Trial = false
	}
}

// promote makes the newest revision the one that serves. The one before keeps its replicas for a while, for the requests
// that they have.
func (s *State) promote(in Input) {
	if old := s.Serving.Number; old != 0 && old != in.Newest.Number && s.Replicas > 0 && !s.exclusive(in) {
		s.Draining, s.DrainingReplicas, s.DrainUntil = old, s.Replicas, in.Now.Add(in.Limits.Drain)
	}
	replicas := s.trialReplicas(in)
	s.Serving, s.Trial, s.TrialSince, s.TrialVersion, s.Failure = in.Newest, false, time.Time{}, 0, nil
	s.UnreadySince, s.FromZero, s.Broken = time.Time{}, false, nil
	s.rise(in.Now, replicas)
}

// trialReplicas is how many replicas a revision on trial has: as many as the one that it replaces.
func (s *State) trialReplicas(in Input) uint32 {
	if in.Shared && !in.Newest.TakesPort {
		return 1
	}
	replicas := max(1, in.Newest.Scale.Min)
	if s.Serving.Number != 0 {
		replicas = max(replicas, s.Replicas)
	}
	return max(1, min(replicas, in.Newest.Scale.Max))
}

// judgeServing notes since when the serving revision has not had a ready replica though it should.
func (s *State) judgeServing(in Input) {
	seen := in.Observed[s.Serving.Number]
	switch {
	case s.Serving.Number == 0:
		return
	case s.Replicas == 0:
		s.UnreadySince, s.FromZero = time.Time{}, false
		return
	case seen.Ready > 0 || s.handsOver(in):
		s.UnreadySince, s.FromZero, s.Broken = time.Time{}, false, nil
		return
	case s.UnreadySince.IsZero():
		s.UnreadySince = in.Now
	}
	problem := seen.Problem
	switch {
	case s.Broken != nil || s.Silent:
	case problem != nil && problem.Permanent:
		s.Broken = &Failure{problem.Substate, problem.Message}
	case in.Now.Sub(s.UnreadySince) >= in.Limits.Start:
		s.Broken = &Failure{0, sentence.Say("no replica has been ready for %s", in.Limits.Start)}
		if problem != nil {
			s.Broken.Substate, s.Broken.Message = problem.Substate, s.Broken.Message+": "+problem.Message
		}
	}
}

// exclusive reports whether at most one replica of the app can run at a time.
func (s *State) exclusive(in Input) bool {
	return in.Shared && (!in.Newest.TakesPort || s.Serving.Number != 0 && !s.Serving.TakesPort)
}

// handsOver reports whether the serving revision has to be off for the one on trial.
func (s *State) handsOver(in Input) bool { return s.Trial && s.exclusive(in) }

// wants is what should run, and which revision gets requests.
func (s *State) wants(in Input) (want []Want, route uint64) {
	if s.Stopped {
		return nil, 0
	}
	if s.exclusive(in) {
		return s.wantsOne(in)
	}
	if s.Draining != 0 {
		want = append(want, Want{s.Draining, s.DrainingReplicas})
	}
	if s.Serving.Number != 0 {
		want = append(want, Want{s.Serving.Number, s.Replicas})
	}
	if s.Trial {
		want = append(want, Want{in.Newest.Number, s.trialReplicas(in)})
	}
	return want, s.Serving.Number
}

// wantsOne is what should run where two replicas cannot: the next starts when nothing else is left.
func (s *State) wantsOne(in Input) (want []Want, route uint64) {
	next, replicas := s.Serving.Number, min(1, s.Replicas)
	if s.Trial {
		next, replicas = in.Newest.Number, 1
	}
	for revision, seen := range in.Observed {
		if revision != next && seen.Replicas > 0 {
			replicas = 0
		}
	}
	if s.Trial && s.Serving.Number != 0 {
		want = append(want, Want{s.Serving.Number, 0})
	}
	want = append(want, Want{next, replicas})
	if s.Trial {
		return want, 0
	}
	return want, s.Serving.Number
}

// next is when time alone may change something.
func (s *State) next(in Input) time.Time {
	var first time.Time
	at := func(t time.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	if s.Stopped {
		if s.Condition.Status == statusDeploying {
			at(s.StoppedSince.Add(in.Limits.Stop))
		}
		return first
	}
	if s.Trial && s.Failure == nil && !s.Silent {
		at(s.TrialSince.Add(in.Limits.Start))
	}
	if s.Draining != 0 {
		at(s.DrainUntil)
	}
	if s.Serving.Number != 0 && s.Replicas > s.Serving.Scale.Min {
		at(s.CalmSince.Add(s.Serving.Scale.Calm))
	}
	if !s.UnreadySince.IsZero() && s.Broken == nil && !s.Silent {
		at(s.UnreadySince.Add(in.Limits.Start))
	}
	return first
}
