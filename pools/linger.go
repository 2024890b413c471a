package pools

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// awaitEnd waits for the end of an attempt, and reports whether it came before the end of the session. A process that lingers is
// stopped; see attempts.Linger.
func (s *session) awaitEnd(a *attempt, assigned *enginev1.Assignment) bool {
	linger := attempts.Linger(s.config.Linger)
	if !linger.Holds(assigned.GetTask().GetSpec().GetTaskTemplate()) {
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
			zerolog.Ctx(s.ctx).Warn().Err(err).Stringer("action", a.row.Action).Msg("checking the outputs of a running task failed; retrying")
		}
		if found {
			pause = s.config.Linger
			s.noteWritten(a, assigned)
		} else {
			pause = linger.After(pause)
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

// noteWritten says on the action that its process still runs although it has written its outcome.
func (s *session) noteWritten(a *attempt, assigned *enginev1.Assignment) {
	row, now := a.current(), s.deps.Clock.Now()
	event := s.event(&row, assigned, common.ActionPhase_ACTION_PHASE_RUNNING, now)
	event.Version = 1
	reason, message := attempts.Linger(s.config.Linger).Words()
	event.ClusterEvents = []*workflow.ClusterEvent{s.reporter.Warning(now, reason, message)}
	if err := s.record(s.ctx, &enginev1.Transition{Event: event}); err != nil {
		zerolog.Ctx(s.ctx).Warn().Err(err).Stringer("action", a.row.Action).Msg("cannot note on an action that its process still runs")
	}
}
