package insight

import (
	"context"
	"math"
	"time"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// maxTransitioned is how many actions one call may request.
const maxTransitioned = 500

// TransitionReader reads the events of actions; lists.Reader does.
type TransitionReader interface {
	BirthReader
	Transitions(ctx context.Context, runID int64, ids []int64) ([]lists.Transitioned, error)
}

// Transitions lists the phases that actions went through.
type Transitions struct{ Actions TransitionReader }

// ListTransitions implements insightv1connect.InsightServiceHandler. Its result agrees with the details of each action.
// It skips numbers without an action, and counts a repeated number once. A number is the distance of an action's id
// from that of the root, as watches of a run give it.
func (l *Transitions) ListTransitions(ctx context.Context, request *insightv1.ListTransitionsRequest) (*insightv1.ListTransitionsResponse, error) {
	switch n := len(request.GetNumbers()); {
	case n == 0:
		return nil, rpc.InvalidArgument("numbers", "must name at least one action")
	case n > maxTransitioned:
		return nil, rpc.InvalidArgument("numbers", "may name at most %d actions, got %d", maxTransitioned, n)
	}
	birth, err := l.Actions.RunBirth(ctx, ident.RunOf(request.GetRunId()))
	if err != nil {
		return nil, err
	}
	rows, err := l.Actions.Transitions(ctx, birth.RunID, idsByNumber(birth.RunID, request.GetNumbers()))
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListTransitionsResponse{}
	for i := range rows {
		attempts, err := protomap.Attempts(&rows[i].Action, rows[i].Events)
		if err != nil {
			return nil, err
		}
		t := phases{number: uint32(rows[i].Action.ID - birth.RunID), zero: birth.CreatedAt, out: response} //nolint:gosec // as it was asked for
		for _, attempt := range attempts {
			t.add(attempt)
		}
	}
	return response, nil
}

// phases writes down the phases of one action.
type phases struct {
	number uint32
	zero   time.Time
	out    *insightv1.ListTransitionsResponse
}

// add writes down the phases of one attempt, with times in milliseconds after the creation of the run.
func (t *phases) add(attempt *workflow.ActionAttempt) {
	phases := attempt.GetPhaseTransitions()
	for _, p := range phases {
		at := p.GetStartTime()
		if state.Terminal(state.Phase(p.GetPhase())) && p.GetEndTime().AsTime().After(at.AsTime()) { //nolint:gosec // an enum of few values
			// Recorded with its end in one step, as a trace is: it ran until then.
			t.step(attempt.GetAttempt(), common.ActionPhase_ACTION_PHASE_RUNNING, at.AsTime())
			at = p.GetEndTime()
		}
		t.step(attempt.GetAttempt(), p.GetPhase(), at.AsTime())
	}
}

func (t *phases) step(attempt uint32, phase common.ActionPhase, at time.Time) {
	t.out.Transitions = append(t.out.Transitions, &insightv1.Transition{
		Number: t.number, Attempt: attempt, Phase: uint32(phase), //nolint:gosec // an enumeration
		At: uint32(min(max(at.Sub(t.zero).Milliseconds(), 0), math.MaxUint32)),
	})
}
