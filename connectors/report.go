package connectors

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

const (
	// maxMessage is how much of a job's message is reported, in bytes.
	maxMessage = 2 << 10
	// maxLinks is how many of its links are.
	maxLinks = 20
)

// failed records a lost attempt, together with the next one. It can be repeated: everything but the first time changes nothing.
func (w *worker) failed(ctx context.Context, j *store.Job, assigned *enginev1.Assignment, lost *failure.Failure, resource *connectorv2.Resource) (next, error) {
	counted := verdict.Count{Attempt: j.Attempt, UserFailures: j.UserFailures, SystemFailures: j.SystemFailures}
	loss := w.reporter.Lose(counted, assigned.GetTask().GetSpec().GetTaskTemplate(), lost)
	ended := verdict.Transition(w.event(j, assigned, loss.Phase(), resource), loss.Failure)
	transitions := append(w.missedStart(j, assigned), ended)
	var following *verdict.Count
	if loss.Next != nil {
		following = &loss.Next.Count
		transitions = append(transitions, w.reporter.Queued(ended.GetEvent(), loss, w.deps.Clock.Now()))
	}
	answer, err := w.reporter.Send(ctx, j.UID, following, transitions...)
	if err != nil {
		return next{}, err
	}
	failpoint.Here("connectors.after-end")
	if answer.Next == nil { // If the action is live, the mirror offers it again.
		return done(), w.store.Done(ctx, j)
	}
	return done(), w.store.Retry(ctx, j, with(j, *answer.Next), loss.Next.Pause)
}

// report records transitions, and reports whether the action is over, so that its job must be deleted.
func (w *worker) report(ctx context.Context, transitions ...*enginev1.Transition) (bool, error) {
	answer, err := w.reporter.Send(ctx, 0, nil, transitions...)
	return answer.Over, err
}

// missedStart is the start of a job that has ended before it was seen to run.
func (w *worker) missedStart(j *store.Job, assigned *enginev1.Assignment) []*enginev1.Transition {
	if j.Stage < store.Created || common.ActionPhase(j.Phase) >= common.ActionPhase_ACTION_PHASE_RUNNING {
		return nil
	}
	event := w.event(j, assigned, common.ActionPhase_ACTION_PHASE_RUNNING, nil)
	if j.BegunAt != nil {
		event.UpdatedTime = w.reporter.Event(attempts.Position{}, *j.BegunAt).GetUpdatedTime()
	}
	return []*enginev1.Transition{{Event: event}}
}

// event is the event of a position, with what the connector says, as it may be shown; resource may be nil.
func (w *worker) event(j *store.Job, assigned *enginev1.Assignment, phase common.ActionPhase, resource *connectorv2.Resource) *workflow.ActionEvent {
	now := w.deps.Clock.Now()
	event := w.reporter.Event(attempts.Position{
		Action: j.Action, Cluster: assigned.GetCluster(), Attempt: j.Attempt, Phase: phase, Version: uint32(j.Version), //nolint:gosec // it is small
	}, now)
	if phase > common.ActionPhase_ACTION_PHASE_RUNNING {
		event.Version = 0
	}
	if len(j.Told) == 0 && j.Stage == store.Created {
		words := sentence.Say("connector %s runs it", w.remote.Name)
		if id := jobID(j.Meta); id != "" {
			words = sentence.Say("connector %s runs it as job %s", w.remote.Name, id)
		}
		event.ClusterEvents = append(event.ClusterEvents, w.reporter.Note(now, "JobCreated", words))
	}
	if resource.GetMessage() != "" {
		event.ClusterEvents = append(event.ClusterEvents, w.reporter.Note(now, "Job", resource.GetMessage()))
	}
	event.LogContext = w.logContext(j)
	if resource != nil {
		event.LogInfo = append(w.linksOf(j, assigned), resource.GetLogLinks()...)
	}
	return event
}

// jobID is what people call a job, if the connector's name for it has that as JSON. Other names are not shown: they may have
// anything.
func jobID(meta []byte) string {
	var fields map[string]any
	if json.Unmarshal(meta, &fields) != nil {
		return ""
	}
	for _, name := range []string{"job_id", "query_id", "run_id", "id"} {
		switch id := fields[name].(type) {
		case string:
			return clip.Ellipsis(redact.Tokens(id), 200)
		case float64:
			return fmt.Sprintf("%.0f", id)
		}
	}
	return ""
}
