package attempts

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Sink records transitions and returns the outcome of each, after the commit. It retries through outages; events.Sink does.
type Sink interface {
	Record(ctx context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error)
}

// Reporter reports attempts to the runs service.
type Reporter struct {
	// Source is the component that cluster events name.
	Source string
	Sink   Sink
	// Assignments is read when the loss of an attempt had been recorded before it was reported.
	Assignments verdict.Assignments
	Budget      verdict.Budget
	Clock       clock.Clock
}

// Position is where an action is.
type Position struct {
	Action  ident.Action
	Cluster string
	Attempt int32
	Phase   common.ActionPhase
	Version uint32
}

// Event returns the event of a position that an action reached at a time, without details.
func (r *Reporter) Event(at Position, reached time.Time) *workflow.ActionEvent {
	return &workflow.ActionEvent{
		Id:           at.Action.Proto(),
		Attempt:      uint32(at.Attempt), //nolint:gosec // from 1
		Phase:        at.Phase,
		Version:      at.Version,
		UpdatedTime:  timestamppb.New(reached),
		ReportedTime: timestamppb.New(r.Clock.Now()),
		Cluster:      at.Cluster,
	}
}

// Note returns a cluster event that tells the owner of an attempt what is normal.
func (r *Reporter) Note(at time.Time, reason, message string) *workflow.ClusterEvent {
	return &workflow.ClusterEvent{
		OccurredAt: timestamppb.New(at), Reason: reason, Message: message, Type: workflow.ClusterEvent_TYPE_NORMAL, SourceComponent: r.Source, Count: 1,
	}
}

// Warning returns a cluster event that tells the owner of an attempt what is not.
func (r *Reporter) Warning(at time.Time, reason, message string) *workflow.ClusterEvent {
	warning := r.Note(at, reason, message)
	warning.Type = workflow.ClusterEvent_TYPE_WARNING
	return warning
}

// Loss is a lost attempt and what follows.
type Loss struct {
	// Failure is why it was lost, as it is reported.
	Failure *failure.Failure
	// Next is the attempt that follows; nil if the action has failed.
	Next *verdict.Retry
	// NotBefore is when Next may begin.
	NotBefore time.Time
}

// Lose decides what follows the loss of an attempt.
func (r *Reporter) Lose(at verdict.Count, template *core.TaskTemplate, lost *failure.Failure) Loss {
	next, lost := r.Budget.Next(at, template, lost)
	if next == nil {
		return Loss{Failure: lost}
	}
	return Loss{Failure: lost, Next: next, NotBefore: r.Clock.Now().Add(next.Pause)}
}

// Phase is the phase in which the lost attempt ends.
func (l Loss) Phase() common.ActionPhase {
	if l.Failure.TimedOut() {
		return common.ActionPhase_ACTION_PHASE_TIMED_OUT
	}
	return common.ActionPhase_ACTION_PHASE_FAILED
}

// Queued returns the transition to the next attempt, which must be there. It belongs in one report with the end of the lost
// attempt, so that no client takes a failure that is not final for the end of the action.
func (r *Reporter) Queued(ended *workflow.ActionEvent, loss Loss, reached time.Time) *enginev1.Transition {
	event := r.Event(Position{
		Action: ident.ActionOf(ended.GetId()), Cluster: ended.GetCluster(), Attempt: loss.Next.Attempt, Phase: common.ActionPhase_ACTION_PHASE_QUEUED,
	}, reached)
	event.ClusterEvents = []*workflow.ClusterEvent{r.Warning(reached, loss.Failure.Code, loss.Next.Message)}
	return &enginev1.Transition{Event: event, NotBefore: timestamppb.New(loss.NotBefore)}
}

// Answer is what the runs service makes of a report.
type Answer struct {
	// Over means that the action is no longer live.
	Over bool
	// Next is the attempt that waits after a loss: as it was reported or, if the runs service knew of the loss, as that has it. Nil if
	// none waits.
	Next *verdict.Count
}

// Send records transitions of an action. next is the attempt that they queue; nil if they queue none.
func (r *Reporter) Send(ctx context.Context, uid int64, next *verdict.Count, transitions ...*enginev1.Transition) (Answer, error) {
	outcomes, err := r.Sink.Record(ctx, transitions)
	switch {
	case err != nil:
		return Answer{}, err
	case verdict.Over(outcomes):
		return Answer{Over: true}, nil
	case next != nil && verdict.Stale(outcomes):
		next, err = verdict.Recount(ctx, r.Assignments, uid)
	}
	return Answer{Next: next}, err
}
