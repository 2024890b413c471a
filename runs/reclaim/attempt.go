package reclaim

import (
	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// reclaim is how an attempt is taken back: it fails for a reason of the system, and another one follows if the budget allows. There is no
// pause before that one, since it runs elsewhere.
func (l *Loop) reclaim(ref schema.Ref, of *enginev1.Assignment, waiting bool, why *failure.Failure) (store.Reclaim, error) {
	at := verdict.CountOf(of)
	loss := l.reporter.Lose(at, of.GetTask().GetSpec().GetTaskTemplate(), why)
	now := l.deps.Clock.Now()
	ended := verdict.Transition(l.reporter.Event(attempts.Position{
		Action: ident.ActionOf(of.GetRef().GetId()), Cluster: of.GetCluster(), Attempt: at.Attempt, Phase: loss.Phase(),
	}, now), loss.Failure)
	lost, err := dispatch.Transition(ended.GetEvent(), ended.GetError())
	if err != nil {
		return store.Reclaim{}, err //nolint:wrapcheck // it says what is wrong
	}
	taken := store.Reclaim{Ref: ref, Cluster: of.GetCluster(), Attempt: at.Attempt, Waiting: waiting, Lost: lost}
	if loss.Next == nil {
		return taken, nil
	}
	queued, err := dispatch.Transition(l.reporter.Queued(ended.GetEvent(), loss, now).GetEvent(), nil)
	if err != nil {
		return store.Reclaim{}, err //nolint:wrapcheck // it says what is wrong
	}
	taken.Next = &queued
	return taken, nil
}
