package triggers

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// held is the outcome of a slot or a version that gets no run, or none yet; zero if it gets one.
func (s *starter) held(ctx context.Context, d *decoded, f *store.Fire, version *artifact.Artifact) (outcome, error) {
	if reason, err := s.circular(ctx, d, version); reason != "" || err != nil {
		return outcome{state: store.Skipped, reason: reason}, err
	}
	// Before an unfinished run is aborted for this one.
	if until, reason, err := s.bound.wait(ctx, d, f); !until.IsZero() || err != nil {
		return outcome{until: until, reason: reason}, err
	}
	if f.BackfillID != nil || d.policy.concurrency == concurrencyAllow {
		return outcome{}, nil
	}
	reason, err := s.concurrent(ctx, d, f)
	if reason == "" {
		return outcome{}, err
	}
	return outcome{state: store.Skipped, reason: reason}, err
}

// concurrent applies the concurrency policy: it returns why the slot is skipped, or an empty reason once it may start.
func (s *starter) concurrent(ctx context.Context, d *decoded, f *store.Fire) (string, error) {
	live, err := s.store.Live(ctx, d.ID)
	if err != nil {
		return "", err
	}
	for i := range live {
		other := &live[i]
		if other.Slot.Equal(f.Slot) && other.Cause == f.Cause {
			continue // another scheduler was faster: this one may have been frozen
		}
		unfinished, err := s.unfinished(ctx, d.Trigger, other)
		if err != nil {
			return "", err
		}
		switch {
		case !unfinished:
		case d.policy.concurrency == concurrencySkip || other.Slot.After(f.Slot):
			return fmt.Sprintf("the run %s of the %s is unfinished, and the concurrency policy is %s", other.RunName, cause(other), d.policy.concurrency), nil
		default:
			reason := fmt.Sprintf("replaced by the %s of trigger %s", cause(f), d.Name)
			_, err := s.runs.AbortRun(ctx, &workflow.AbortRunRequest{RunId: runID(d.Trigger, other), Reason: &reason})
			if err != nil && !rpc.IsNotFound(err) {
				return "", err
			}
			if err := s.store.Ended(ctx, other); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// unfinished asks whether the run of a slot is unfinished, and remembers when it is not.
func (s *starter) unfinished(ctx context.Context, t *store.Trigger, f *store.Fire) (bool, error) {
	details, err := s.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: runID(t, f)})
	switch {
	case err == nil:
		if !phase.Terminal(details.GetDetails().GetAction().GetStatus().GetPhase()) {
			return true, nil
		}
	case !rpc.IsNotFound(err):
		return false, err
	}
	return false, s.store.Ended(ctx, f)
}
