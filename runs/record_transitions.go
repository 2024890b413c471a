package runs

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/runs/engine"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// outcomes are the store's as the contract writes them.
var outcomes = map[store.Outcome]enginev1.TransitionOutcome{
	store.OutcomeApplied:  enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED,
	store.OutcomeStale:    enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE,
	store.OutcomeTerminal: enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL,
	store.OutcomeUnknown:  enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION,
}

// RecordTransitions implements enginev1connect.EngineServiceHandler.
func (h *engineHandler) RecordTransitions(ctx context.Context, request *enginev1.RecordTransitionsRequest) (*enginev1.RecordTransitionsResponse, error) {
	transitions := make([]store.Transition, len(request.GetTransitions()))
	for i, t := range request.GetTransitions() {
		var err error
		if transitions[i], err = engine.Transition(t.GetEvent(), t.GetError()); err != nil {
			return nil, err
		}
		transitions[i].NotBefore = timeOf(t.GetNotBefore())
	}
	applied, err := h.svc.recordTransitions(ctx, transitions)
	if err != nil {
		return nil, err
	}
	response := &enginev1.RecordTransitionsResponse{Outcomes: make([]enginev1.TransitionOutcome, len(applied))}
	for i, outcome := range applied {
		response.Outcomes[i] = outcomes[outcome]
	}
	return response, nil
}
