package change

import (
	"cmp"
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// outcomes are the store's as the contract writes them.
var outcomes = map[store.Outcome]enginev1.TransitionOutcome{
	store.OutcomeApplied:  enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED,
	store.OutcomeStale:    enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE,
	store.OutcomeTerminal: enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL,
	store.OutcomeUnknown:  enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION,
	store.OutcomeRefused:  enginev1.TransitionOutcome_TRANSITION_OUTCOME_REFUSED,
}

// TransitionWriter stores transitions; store.Writer does.
type TransitionWriter interface {
	RecordTransitions(ctx context.Context, transitions []store.Transition) ([]store.Outcome, error)
}

// Reporter records what executors and clients report about actions.
type Reporter struct {
	// Cache and Writer are required.
	Cache  Cache
	Writer TransitionWriter
	// Refused is called for each report of a cluster about an action that it does not run; nil means that no one counts.
	Refused func(ctx context.Context, cluster string)
}

// RecordTransitions implements enginev1connect.EngineServiceHandler.
func (r *Reporter) RecordTransitions(ctx context.Context, request *enginev1.RecordTransitionsRequest) (*enginev1.RecordTransitionsResponse, error) {
	transitions := make([]store.Transition, len(request.GetTransitions()))
	for i, t := range request.GetTransitions() {
		var err error
		if transitions[i], err = dispatch.Transition(t.GetEvent(), t.GetError()); err != nil {
			return nil, err
		}
		transitions[i].NotBefore, transitions[i].BeginsReport = protomap.Time(t.GetNotBefore()), t.GetBeginsReport()
		if t.Placement != nil {
			placement := int32(t.GetPlacement()) //nolint:gosec // counts attempts
			transitions[i].Placement = &placement
		}
		transitions[i].Reporter = authz.ClusterOf(ctx)
	}
	applied, err := r.record(ctx, transitions)
	if err != nil {
		return nil, err
	}
	response := &enginev1.RecordTransitionsResponse{Outcomes: make([]enginev1.TransitionOutcome, len(applied))}
	for i, outcome := range applied {
		if outcome == store.OutcomeRefused {
			r.refused(ctx, &transitions[i])
		}
		response.Outcomes[i] = outcomes[outcome]
	}
	return response, nil
}

func (r *Reporter) refused(ctx context.Context, t *store.Transition) {
	if cluster := cmp.Or(t.Reporter, t.Cluster); cluster != "" && r.Refused != nil {
		r.Refused(ctx, cluster)
	}
}

// record stores observations. Reusable outputs of successes are in the cache before the success becomes visible.
func (r *Reporter) record(ctx context.Context, transitions []store.Transition) ([]store.Outcome, error) {
	if err := publish(ctx, r.Cache, transitions); err != nil {
		return nil, err
	}
	failpoint.Here("record.after-publish")
	return r.Writer.RecordTransitions(ctx, transitions)
}
