package rollout

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

const (
	statusPending   = int32(app.Status_DEPLOYMENT_STATUS_PENDING)
	statusStopped   = int32(app.Status_DEPLOYMENT_STATUS_STOPPED)
	statusFailed    = int32(app.Status_DEPLOYMENT_STATUS_FAILED)
	statusActive    = int32(app.Status_DEPLOYMENT_STATUS_ACTIVE)
	statusDeploying = int32(app.Status_DEPLOYMENT_STATUS_DEPLOYING)
)

// condition is the status. Its message has no numbers that change while the status stays: each new text is an entry of the
// app's history.
func (s *State) condition(in Input) Condition {
	c := s.plainCondition(in)
	c.Revision = in.Newest.Number
	if in.Silence != "" && c.Status != statusStopped {
		if c.Status == statusDeploying {
			c.Status = statusPending
		}
		c.Message = in.Silence + suffix("; ", c.Message)
	}
	return c
}

func suffix(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

func (s *State) plainCondition(in Input) Condition {
	switch {
	case s.Stopped:
		return s.stopped(in)
	case s.Failure != nil:
		message := sentence.Say("revision %d failed: %s", in.Newest.Number, s.Failure.Message)
		if s.Serving.Number != 0 {
			message += "; " + sentence.Say("revision %d still serves", s.Serving.Number)
		}
		return Condition{Status: statusFailed, Substate: s.Failure.Substate, Message: message}
	case s.Trial:
		return s.trying(in)
	case s.Broken != nil:
		return Condition{Status: statusFailed, Substate: s.Broken.Substate, Message: s.Broken.Message}
	default:
		return s.serving(in)
	}
}

func (s *State) stopped(in Input) Condition {
	left := 0
	for _, seen := range in.Observed {
		left += seen.Replicas
	}
	if left == 0 || in.Silence != "" || in.Now.Sub(s.StoppedSince) >= in.Limits.Stop {
		return Condition{Status: statusStopped, Message: sentence.Say("the app is stopped")}
	}
	return Condition{Status: statusDeploying, Substate: int32(app.Status_SCALING_DOWN), Message: sentence.Say("the app is being stopped")}
}

func (s *State) trying(in Input) Condition {
	seen, reported := in.Observed[in.Newest.Number]
	c := Condition{Status: statusDeploying, Message: sentence.Say("revision %d starts", in.Newest.Number)}
	switch {
	case !reported:
		c.Status = statusPending
		c.Message = sentence.Say("revision %d waits for the cluster to take it up", in.Newest.Number)
	case seen.Problem != nil && (in.Applied == 0 || in.Applied >= s.TrialVersion):
		c.Substate = seen.Problem.Substate
		c.Message += suffix(": ", seen.Problem.Message)
	default:
		c.Substate = int32(app.Status_INITIALIZING)
	}
	if s.Serving.Number != 0 && !s.exclusive(in) {
		c.Message += "; " + sentence.Say("revision %d serves until then", s.Serving.Number)
	}
	return c
}

func (s *State) serving(in Input) Condition {
	seen := in.Observed[s.Serving.Number]
	c := Condition{Status: statusActive, Substate: int32(app.Status_RUNNING)}
	switch {
	case s.Replicas == 0:
		c.Substate, c.Message = int32(app.Status_SCALED_TO_ZERO), sentence.Say("scaled to zero; starts on the next request")
	case seen.Ready == 0 && s.FromZero:
		c.Substate, c.Message = int32(app.Status_SCALING_FROM_ZERO), sentence.Say("starting a replica for a request")
	case seen.Ready == 0:
		c.Status, c.Substate, c.Message = statusDeploying, int32(app.Status_INITIALIZING), sentence.Say("no replica is ready")
		if seen.Problem != nil {
			c.Substate, c.Message = seen.Problem.Substate, c.Message+suffix(": ", seen.Problem.Message)
		}
	case seen.Ready < int(s.Replicas):
		c.Substate, c.Message = int32(app.Status_SCALING_UP), sentence.Say("more replicas start")
		if seen.Problem != nil {
			c.Message += suffix(": ", seen.Problem.Message)
		}
	}
	return c
}
