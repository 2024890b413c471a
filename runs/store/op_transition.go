package store

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Transition is one observation of an attempt of an action.
type Transition struct {
	Action ident.Action
	To     state.Position
	// NotBefore is when a new attempt begins to wait for its start; nil means now.
	NotBefore *time.Time
	// At is when it was observed; nil means now.
	At *time.Time
	// Event is the encoded workflow.ActionEvent; nil when nobody reported one.
	Event []byte
	// Error is the encoded core.ExecutionError of a FAILED or TIMED_OUT attempt.
	Error []byte
	// OutputURI is the attempt directory of a success; empty means the one of the layout.
	OutputURI string
	ReportURI string
	// CacheStatus is a core.CatalogCacheStatus; 0 leaves what is known.
	CacheStatus int16
	// CacheReason replaces what is known about the cache unless it is empty.
	CacheReason string
}

// Outcome says what became of a transition.
type Outcome uint8

// The outcomes.
const (
	OutcomeApplied  Outcome = iota + 1
	OutcomeStale            // the same or a later position is known
	OutcomeTerminal         // the action had ended
	OutcomeUnknown          // there is no such action
)

// RecordTransitions applies observations in order, all in one transaction, and says what became of each.
func (w *Writer) RecordTransitions(ctx context.Context, transitions []Transition) ([]Outcome, error) {
	op := &recordTransitions{transitions: transitions}
	if err := w.submit(ctx, op); err != nil {
		return nil, err
	}
	return op.outcomes, nil
}

type recordTransitions struct {
	transitions []Transition
	outcomes    []Outcome
}

func (op *recordTransitions) plan(p *plan) {
	for i := range op.transitions {
		op.transitions[i].plan(p)
	}
}

func (op *recordTransitions) apply(b *batch) error {
	op.outcomes = make([]Outcome, len(op.transitions))
	for i := range op.transitions {
		op.outcomes[i] = op.transitions[i].apply(b, op)
	}
	return nil
}

func (t *Transition) plan(p *plan) {
	if state.Terminal(t.To.Phase) {
		p.subtree(t.Action) // what it leaves behind is to be aborted
	} else {
		p.row(t.Action)
	}
}

func (t *Transition) apply(b *batch, report operation) Outcome {
	r := b.find(t.Action)
	if r == nil {
		return OutcomeUnknown
	}
	if state.Terminal(r.Phase) && r.endedBy != report {
		return OutcomeTerminal // whoever waits for it may have seen the end: no attempt follows it
	}
	switch state.Next(r.position(), t.To) {
	case state.Ended:
		return OutcomeTerminal
	case state.Stale:
		return OutcomeStale
	}
	if t.To.Attempt > r.Attempt {
		r.OutputURI, r.ReportURI, r.Error, r.begins = "", "", nil, t.NotBefore
	}
	b.move(r, t.To)
	if state.Terminal(t.To.Phase) {
		r.endedBy = report
	}
	t.project(b, r)
	b.record(r, t.Event, t.Error)
	return OutcomeApplied
}

// project writes into the row what the observation says beside the phase.
func (t *Transition) project(b *batch, r *row) {
	if t.CacheStatus != 0 {
		r.CacheStatus = t.CacheStatus
	}
	if t.CacheReason != "" {
		r.CacheReason = t.CacheReason
	}
	if t.ReportURI != "" {
		r.ReportURI = t.ReportURI
	}
	if t.To.Phase == state.Running && r.StartedAt == nil {
		at := b.notAfterNow(t.At, r.CreatedAt)
		r.StartedAt = &at
	}
	if r.AdmittedAt == nil && r.ActionType == actionTask && !state.Terminal(t.To.Phase) && t.To.Phase != state.Queued {
		r.AdmittedAt = &b.now // somebody runs it
	}
	if !state.Terminal(t.To.Phase) {
		return
	}
	notBefore := r.CreatedAt
	if r.StartedAt != nil {
		notBefore = *r.StartedAt
	}
	at := b.notAfterNow(t.At, notBefore)
	r.EndedAt = &at
	switch t.To.Phase {
	case state.Succeeded, state.Recovered:
		r.OutputURI = t.OutputURI
		if r.OutputURI == "" && r.ActionType == actionTask {
			r.OutputURI = layout.AttemptDir(r.run.root.RunOutputBase, r.Name, uint32(r.Attempt)) //nolint:gosec // from 1
		}
	case state.Failed, state.TimedOut:
		r.Error = t.Error
	}
}
