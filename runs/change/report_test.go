package change_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/change"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// ledger is the cache and the writer; it notes the order in which they are asked.
type ledger struct {
	status    core.CatalogCacheStatus // of every success that is published
	fails     error                   // of publishing
	outcomes  []store.Outcome
	published []cachelink.Success
	stored    []store.Transition
	woken     []store.Wake
}

func (l *ledger) Publish(_ context.Context, successes []cachelink.Success) ([]cachelink.Published, error) {
	if l.fails != nil {
		return nil, l.fails
	}
	l.published = append(l.published, successes...)
	answers := make([]cachelink.Published, len(successes))
	for i := range answers {
		answers[i] = cachelink.Published{Status: l.status, Reason: "why"}
	}
	return answers, nil
}

func (l *ledger) RecordTransitions(_ context.Context, transitions []store.Transition) ([]store.Outcome, error) {
	l.stored = transitions
	return l.outcomes, nil
}

func (l *ledger) Wake(_ context.Context, due []store.Wake, _ store.ExecutorGrace) (int, error) {
	l.woken = due
	return len(due), nil
}

func event(name string, phase common.ActionPhase) *workflow.ActionEvent {
	return &workflow.ActionEvent{
		Id:      &common.ActionIdentifier{Run: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r"}, Name: name},
		Attempt: 2, Phase: phase, Outputs: &task.OutputReferences{OutputUri: "/data/" + name + "/2/outputs.pb"},
	}
}

const (
	running   = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
)

func TestSuccessesArePublishedBeforeTheyAreStored(t *testing.T) {
	for name, tc := range map[string]struct {
		status core.CatalogCacheStatus
		stored int16
		reason string
	}{
		"populated":   {core.CatalogCacheStatus_CACHE_POPULATED, int16(core.CatalogCacheStatus_CACHE_POPULATED), "why"},
		"put failure": {core.CatalogCacheStatus_CACHE_PUT_FAILURE, int16(core.CatalogCacheStatus_CACHE_PUT_FAILURE), "why"},
		"no cache":    {core.CatalogCacheStatus_CACHE_DISABLED, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{status: tc.status, outcomes: make([]store.Outcome, 2)}
			_, err := (&change.Reporter{Cache: l, Writer: l}).RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{
				Transitions: []*enginev1.Transition{{Event: event("a", running)}, {Event: event("b", succeeded)}},
			})
			require.NoError(t, err)
			require.Len(t, l.published, 1)
			require.Equal(t, "b", l.published[0].Action.Name)
			require.Equal(t, int32(2), l.published[0].Attempt)
			require.Equal(t, "/data/b/2", l.published[0].OutputURI)
			require.Zero(t, l.stored[0].CacheStatus)
			require.Equal(t, tc.stored, l.stored[1].CacheStatus)
			require.Equal(t, tc.reason, l.stored[1].CacheReason)
			var kept workflow.ActionEvent
			require.NoError(t, proto.Unmarshal(l.stored[1].Event, &kept))
			require.Equal(t, tc.stored, int16(kept.GetCacheStatus()), "watchers read the status in the event")
		})
	}
}

func TestNothingIsStoredWhenPublishingFails(t *testing.T) {
	l := &ledger{fails: errors.New("away")}
	reporter := &change.Reporter{Cache: l, Writer: l}
	_, err := reporter.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{
		Transitions: []*enginev1.Transition{{Event: event("a", succeeded)}},
	})
	require.ErrorIs(t, err, l.fails)
	response, err := reporter.RecordActionEvents(t.Context(), &workflow.RecordActionEventsRequest{Events: []*workflow.ActionEvent{event("a", succeeded)}})
	require.NoError(t, err)
	require.NotZero(t, response.GetStatus().GetCode())
	require.Empty(t, l.stored)
}

func TestOutcomesAndTimesOfTransitions(t *testing.T) {
	l := &ledger{outcomes: []store.Outcome{store.OutcomeApplied, store.OutcomeStale, store.OutcomeTerminal, store.OutcomeUnknown}}
	later := time.Date(2026, time.July, 1, 0, 0, 0, 1999, time.UTC)
	transitions := make([]*enginev1.Transition, len(l.outcomes))
	for i := range transitions {
		transitions[i] = &enginev1.Transition{Event: event("a", running)}
	}
	transitions[0].NotBefore = timestamppb.New(later)
	response, err := (&change.Reporter{Cache: l, Writer: l}).RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: transitions})
	require.NoError(t, err)
	require.Equal(t, []enginev1.TransitionOutcome{
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED, enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL, enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION,
	}, response.GetOutcomes())
	require.Equal(t, later.Truncate(time.Microsecond), *l.stored[0].NotBefore)
	require.Nil(t, l.stored[1].NotBefore)
}

func TestWakerPublishesOnlyWhatSucceeds(t *testing.T) {
	l := &ledger{status: core.CatalogCacheStatus_CACHE_POPULATED}
	due := []store.Wake{
		{Due: schema.DueEnd},
		{Start: &store.Start{}},
		{Start: &store.Start{Lasts: time.Second}},
		{Start: &store.Start{Postpone: time.Second}},
		{Start: &store.Start{Failure: &core.ExecutionError{}}},
		{},
	}
	_, err := (&change.Waker{Cache: l, Writer: l}).Wake(t.Context(), due, store.ExecutorGrace{})
	require.NoError(t, err)
	require.Len(t, l.published, 2)
	var noted []int
	for i := range l.woken {
		if l.woken[i].CacheStatus != 0 {
			noted = append(noted, i)
		}
	}
	require.Equal(t, []int{0, 1}, noted)
}
