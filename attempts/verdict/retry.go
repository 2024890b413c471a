package verdict

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Budget is how many attempts of one action the system may lose, and the pauses after them. The task itself says how often
// it may fail.
type Budget struct {
	// MaxSystemFailures is how many attempts the system may lose, in addition to the task's own retries.
	MaxSystemFailures int32
	// SystemBackoff is the first pause after a loss by the system, MaxSystemBackoff the longest.
	SystemBackoff, MaxSystemBackoff time.Duration
}

// Count is an attempt, from 1, with how many before it were lost by whom.
type Count struct {
	Attempt, UserFailures, SystemFailures int32
}

// Retry is the attempt that follows a lost one.
type Retry struct {
	Count
	// Pause is how long to wait before it.
	Pause time.Duration
	// Message says why the attempt before it was lost, when this one begins, and how much of which budget is used.
	Message string
}

// Next returns what follows a lost attempt: the next attempt, or nil, and the failure as it is reported. The task's
// retries are for its own failures; what the system lost has a budget of its own. The number of an attempt is bounded by both
// together, even if the counters were lost.
func (b Budget) Next(at Count, template *core.TaskTemplate, lost *failure.Failure) (*Retry, *failure.Failure) {
	lost = explainMemory(template, lost)
	retries := template.GetMetadata().GetRetries()
	allowed := int32(min(retries.GetRetries(), math.MaxInt32/2))
	next := &Retry{Count: Count{at.Attempt + 1, at.UserFailures, at.SystemFailures}}
	var used, budget int32
	switch {
	case !lost.Recoverable:
		return nil, lost
	case lost.IsUsers():
		if next.UserFailures++; next.UserFailures > allowed {
			return nil, lost
		}
		next.Pause = userPause(retries.GetBackoff(), next.UserFailures)
		used, budget = next.UserFailures, allowed
	default:
		if next.SystemFailures++; next.SystemFailures > b.MaxSystemFailures {
			return nil, lost.GivenUp(next.SystemFailures)
		}
		next.Pause = backoff.After(b.SystemBackoff, b.MaxSystemBackoff, int(next.SystemFailures))
		used, budget = next.SystemFailures, b.MaxSystemFailures
	}
	if at.Attempt > allowed+b.MaxSystemFailures {
		return nil, lost
	}
	next.Message = retryWords(lost, next.Pause, used, budget)
	return next, lost
}

// LongestPause bounds the pause before the current attempt of an action.
func (b Budget) LongestPause(at Count, template *core.TaskTemplate) time.Duration {
	return max(userPause(template.GetMetadata().GetRetries().GetBackoff(), at.UserFailures), backoff.Longest(b.MaxSystemBackoff))
}

// userPause is the pause that the task wants before its nth retry, counted from 1.
func userPause(wanted *core.Backoff, n int32) time.Duration {
	pause := float64(wanted.GetBase().AsDuration())
	if wanted.GetFactor() > 1 {
		pause *= math.Pow(wanted.GetFactor(), float64(n-1))
	}
	if limit := wanted.GetCap(); limit != nil {
		pause = min(pause, float64(limit.AsDuration()))
	}
	return time.Duration(min(pause, float64(24*time.Hour)))
}

// explainMemory adds the limit and the request that the task asked for.
func explainMemory(template *core.TaskTemplate, lost *failure.Failure) *failure.Failure {
	if lost.Reason != failure.OOMKilled {
		return lost
	}
	resources := template.GetContainer().GetResources()
	limit, request := memoryOf(resources.GetLimits()), memoryOf(resources.GetRequests())
	switch {
	case limit != "" && request != "" && limit != request:
		return lost.With("it asked for " + limit + " as its limit, and for " + request + " as its request")
	case limit != "" || request != "":
		return lost.With("it asked for " + cmp.Or(limit, request))
	}
	return lost
}

func memoryOf(entries []*core.Resources_ResourceEntry) string {
	for _, entry := range entries {
		if entry.GetName() == core.Resources_MEMORY {
			return entry.GetValue()
		}
	}
	return ""
}

// retryWords say why an attempt was lost, when the next one begins, and how much of which budget is used.
func retryWords(lost *failure.Failure, pause time.Duration, used, budget int32) string {
	switch {
	case lost.IsUsers() && pause <= 0:
		return sentence.Say("%s; retrying now (retry %d of %d of the task)", lost.Code, used, budget)
	case lost.IsUsers():
		return sentence.Say("%s; retrying in %s (retry %d of %d of the task)", lost.Code, Round(pause), used, budget)
	case pause <= 0:
		return sentence.Say("%s; retrying now (system retry %d of %d)", lost.Code, used, budget)
	default:
		return sentence.Say("%s; retrying in %s (system retry %d of %d)", lost.Code, Round(pause), used, budget)
	}
}

// Round formats a pause for users.
func Round(pause time.Duration) string {
	if pause < time.Second {
		return pause.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%.0f s", math.Ceil(pause.Seconds()))
}
