package store

import (
	"time"

	"github.com/flyte-binary/flyte-binary/runs/state"
)

// RecoveredTrace is a trace of another run whose result may be reused.
type RecoveredTrace struct {
	Result
	// From is the encoded common.ActionIdentifier of where the result was made.
	From []byte
}

// createTraces adds traces of another run below a new action, so that they are in the first snapshot that the action
// sees: clients look for a trace before they run its function, and never ask again.
func (b *batch) createTraces(parent *row, traces []RecoveredTrace) {
	for i := range traces {
		t := &traces[i]
		if parent.run.rows[t.Name] != nil {
			continue
		}
		at := parent.CreatedAt
		b.create(&row{Root: Root{Action: Action{
			Project: parent.Project, Domain: parent.Domain, RunName: parent.RunName, Name: t.Name, ParentName: &parent.Name,
			ActionType: actionTrace, ActionGroup: t.Group, Phase: state.Recovered, Attempt: 1,
			TaskName: t.TaskName, ShortName: t.ShortName, FunctionName: t.FunctionName, SpecDigest: t.SpecDigest,
			InputURI: t.InputURI, OutputURI: t.OutputURI, ReportURI: t.ReportURI, RecoveredFrom: t.From,
			CreatedBy: parent.CreatedBy, CreatedBySubject: parent.CreatedBySubject,
			CreatedAt: at, StartedAt: &at, EndedAt: &at,
		}}})
	}
}

// retrace takes a trace that raised and whose function ran again later, by another attempt of its parent: that is
// another attempt of the trace. A repeated request tells of the same time and changes nothing.
func (b *batch) retrace(r *row, again *Action) {
	to := state.Position{Attempt: r.Attempt + 1, Phase: again.Phase}
	if !state.Reopens(r.Phase) || again.StartedAt == nil || r.EndedAt == nil || !again.StartedAt.After(*r.EndedAt) ||
		state.Next(r.position(), to) != state.Advance || r.parentEnded() {
		return
	}
	b.move(r, to)
	r.OutputURI, r.ReportURI, r.Error = again.OutputURI, again.ReportURI, again.Error
	ended := b.notAfterNow(again.EndedAt, b.notAfterNow(again.StartedAt, r.CreatedAt))
	r.EndedAt = new(time.Time)
	*r.EndedAt = ended
	b.record(r, nil, r.Error)
}

// parentEnded tells whether the parent has ended. It must be loaded, as it is where something is recorded below it.
func (r *row) parentEnded() bool {
	if r.ParentName == nil {
		return false
	}
	parent := r.run.rows[*r.ParentName]
	return parent != nil && state.Terminal(parent.Phase)
}
