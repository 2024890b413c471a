package pools

import (
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// longestLook is how many times Config.Linger passes at most between two looks at what an attempt has written.
const longestLook = 3

// awaitEnd waits for the end of an attempt, and reports whether it came before the end of the session. A process that goes on for too
// long after it wrote its outcome is stopped; it is looked at after Config.Linger, and then with pauses that double.
func (s *session) awaitEnd(a *attempt, assigned *enginev1.Assignment) bool {
	if s.config.Linger <= 0 || verdict.HasDataSidecar(assigned.GetTask().GetSpec().GetTaskTemplate()) {
		return a.await(s, a.ended)
	}
	pause, found := s.config.Linger, false
	for {
		timer := s.deps.Clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-a.ended:
		case <-a.gone:
		case <-s.ctx.Done():
		}
		timer.Stop()
		if a.isOver() || s.ctx.Err() != nil {
			return a.await(s, a.ended)
		}
		select {
		case <-a.gone:
			return false
		default:
		}
		if found {
			if a.setStop(store.Written) {
				s.tell(result{attempt: a, stop: true})
			}
			return a.await(s, a.ended)
		}
		var err error
		if found, err = verdict.Written(s.ctx, s.deps.Store, s.dirOf(a, assigned)); err != nil {
			zerolog.Ctx(s.ctx).Warn().Err(err).Stringer("action", a.row.Action).Msg("look for what a running task has written; retrying")
		}
		if found {
			pause = s.config.Linger
			s.noteWritten(a, assigned)
		} else {
			pause = min(2*pause, longestLook*s.config.Linger)
		}
	}
}

// recall finds out whether an earlier session stopped an attempt because it had written its outcome, which only that session knew.
func (s *session) recall(a *attempt, row *store.Action, assigned *enginev1.Assignment) error {
	if a.end.GetEnd() != workerv1.End_END_STOPPED || row.Stop != store.NoStop {
		return nil
	}
	found, err := verdict.Written(s.ctx, s.deps.Store, s.dirOf(a, assigned))
	if found {
		row.Stop = store.Written
	}
	return err
}

func (s *session) dirOf(a *attempt, assigned *enginev1.Assignment) string {
	return blobpath.AttemptDir(assigned.GetRunOutputBase(), a.row.Action.Name, uint32(a.row.Attempt)) //nolint:gosec // from 1
}

// noteWritten says on the action that its process goes on although it has written its outcome.
func (s *session) noteWritten(a *attempt, assigned *enginev1.Assignment) {
	row := a.current()
	event := s.event(&row, assigned, common.ActionPhase_ACTION_PHASE_RUNNING, s.deps.Clock.Now())
	event.Version = 1
	event.ClusterEvents = []*workflow.ClusterEvent{{
		OccurredAt: timestamppb.New(s.deps.Clock.Now()), Reason: "OutcomeWritten", Type: workflow.ClusterEvent_TYPE_WARNING, SourceComponent: source, Count: 1,
		Message: "the task has written its outcome, but its process goes on; it is ended " + s.config.Linger.String() + " after that was noticed",
	}}
	if err := s.record(s.ctx, &enginev1.Transition{Event: event}); err != nil {
		zerolog.Ctx(s.ctx).Warn().Err(err).Stringer("action", a.row.Action).Msg("cannot say on an action that its process goes on")
	}
}
