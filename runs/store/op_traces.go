package store

import (
	"time"

	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// RecoveredTrace is a trace of another run whose result may be reused.
type RecoveredTrace struct {
	schema.Result
	// From is the encoded common.ActionIdentifier of the trace that produced the result.
	From []byte
}

// createTraces adds traces of another run below a new action, so that the first snapshot that the action sees has
// them: clients look for a trace once, before they run its function.
func (b *batch) createTraces(parent *row, traces []RecoveredTrace) {
	for i := range traces {
		t := &traces[i]
		if parent.run.rows[t.Name] != nil {
			continue
		}
		at := parent.CreatedAt
		trace := &row{Root: schema.Root{Action: schema.Action{
			Project: parent.Project, Domain: parent.Domain, RunName: parent.RunName, Name: t.Name, ParentName: &parent.Name,
			ActionType: schema.ActionTrace, ActionGroup: t.Group, Phase: state.Recovered,
			TaskName: t.TaskName, ShortName: t.ShortName, FunctionName: t.FunctionName, SpecDigest: t.SpecDigest,
			InputURI: t.InputURI, OutputURI: t.OutputURI, ReportURI: t.ReportURI, RecoveredFrom: t.From,
			CreatedBy: parent.CreatedBy, CreatedBySubject: parent.CreatedBySubject,
			CreatedAt: at, StartedAt: &at, EndedAt: &at,
		}}}
		trace.begin()
		b.create(trace)
	}
}

// retrace records a failed trace whose function ran again in a later attempt of its parent: that is another attempt
// of the trace. A repeated request has the same start time and changes nothing.
func (b *batch) retrace(r *row, again *schema.Action) {
	if again.StartedAt == nil || r.EndedAt == nil || !again.StartedAt.After(*r.EndedAt) || r.parentEnded() {
		return
	}
	if !b.move(r, state.NextTrace(r.standing(), again.Phase, b.report)) {
		return
	}
	r.OutputURI, r.ReportURI, r.Error = again.OutputURI, again.ReportURI, again.Error
	ended := b.notAfterNow(again.EndedAt, b.notAfterNow(again.StartedAt, r.CreatedAt))
	r.EndedAt = new(time.Time)
	*r.EndedAt = ended
	b.record(r, nil, r.Error)
}

// parentEnded reports whether the parent has ended. The parent must be loaded, as it is whenever an action is
// recorded below it.
func (r *row) parentEnded() bool {
	if r.ParentName == nil {
		return false
	}
	parent := r.run.rows[*r.ParentName]
	return parent != nil && state.Terminal(parent.Phase)
}
