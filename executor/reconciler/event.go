package reconciler

import (
	"hash/fnv"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// event is the event of a position, without details.
func (r *Reconciler) event(task *v1.TaskAction, at position, when time.Time) *workflow.ActionEvent {
	return r.reporter.Event(attempts.Position{
		Action: actionOf(task), Cluster: r.deps.Cluster, Attempt: at.attempt, Phase: at.phase, Version: at.version,
	}, when)
}

// observed is the event of a state, with what users see of it.
func (r *Reconciler) observed(task *v1.TaskAction, at position, when time.Time, state plugin.State) *workflow.ActionEvent {
	event := r.event(task, at, when)
	event.LogContext, event.LogInfo = state.LogContext, state.LogLinks
	if state.Message != "" || state.Reason != "" {
		say := r.reporter.Note
		if !state.Expected && (at.phase == common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES || state.Recheck > 0) {
			say = r.reporter.Warning
		}
		event.ClusterEvents = []*workflow.ClusterEvent{say(when, state.Reason, line(state))}
	}
	return event
}

// addNotice adds what the node says. It belongs to the start of the process, which is reported once.
func (r *Reconciler) addNotice(event *workflow.ActionEvent, notice plugin.Notice) {
	if notice.Message == "" {
		return
	}
	say := r.reporter.Warning
	if notice.Expected {
		say = r.reporter.Note
	}
	happened := say(notice.At, notice.Reason, notice.Message)
	happened.SourceComponent = sourceNode
	event.ClusterEvents = append(event.ClusterEvents, happened)
}

// fingerprint identifies what clients see of a state within one phase.
func fingerprint(state plugin.State) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(state.Reason + "\x00" + state.Message + "\x00"))
	encoded, _ := proto.MarshalOptions{Deterministic: true}.Marshal(state.LogContext)
	_, _ = hash.Write(encoded)
	return strconv.FormatUint(hash.Sum64(), 16)
}

// line is a state's message, or its reason.
func line(state plugin.State) string {
	if state.Message != "" {
		return state.Message
	}
	return state.Reason
}

func actionOf(task *v1.TaskAction) ident.Action {
	return ident.Action{
		Run:  ident.Run{Project: task.Spec.Project, Domain: task.Spec.Domain, Name: task.Spec.Run},
		Name: task.Spec.Action,
	}
}
