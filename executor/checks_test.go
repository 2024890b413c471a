package executor_test

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func durationOf(d time.Duration) *durationpb.Duration { return durationpb.New(d) }

// withoutPhases drops the entries of a history that end with one of the phases.
func withoutPhases(history []string, phases ...string) []string {
	return slices.DeleteFunc(slices.Clone(history), func(entry string) bool {
		return slices.ContainsFunc(phases, func(phase string) bool { return strings.HasSuffix(entry, " "+phase) })
	})
}

// requirePairsAreAtomic checks that each lost attempt was reported in one batch with its successor.
func (h *harness) requirePairsAreAtomic() {
	h.t.Helper()
	h.record.mu.Lock()
	defer h.record.mu.Unlock()
	lost := 0
	for _, batch := range h.record.batches {
		for i, transition := range batch {
			if transition.GetEvent().GetPhase() != common.ActionPhase_ACTION_PHASE_FAILED {
				continue
			}
			lost++
			if i+1 < len(batch) {
				next := batch[i+1].GetEvent()
				require.Equal(h.t, common.ActionPhase_ACTION_PHASE_QUEUED, next.GetPhase())
				require.Equal(h.t, transition.GetEvent().GetAttempt()+1, next.GetAttempt())
			}
		}
	}
	require.NotZero(h.t, lost)
}

// recordFailure records that an attempt of the action of an assignment was lost by the task, and the next one queued.
func (h *harness) recordFailure(a *enginev1.Assignment, attempt uint32) {
	h.t.Helper()
	outcomes, err := h.record.Record(h.t.Context(), []*enginev1.Transition{
		{
			Event: &workflow.ActionEvent{
				Id: a.GetRef().GetId(), Attempt: attempt, Phase: common.ActionPhase_ACTION_PHASE_FAILED,
				ErrorInfo: &workflow.ErrorInfo{Code: "ValueError", Kind: workflow.ErrorInfo_KIND_USER},
			},
			Error: &core.ExecutionError{Code: "ValueError", Kind: core.ExecutionError_USER},
		},
		{Event: &workflow.ActionEvent{Id: a.GetRef().GetId(), Attempt: attempt + 1, Phase: common.ActionPhase_ACTION_PHASE_QUEUED}},
	})
	require.NoError(h.t, err)
	require.NotContains(h.t, outcomes, enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE)
}
