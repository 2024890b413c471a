package store

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Transition is one observation of one attempt of an action.
type Transition struct {
	Action ident.Action
	To     state.Position
	// Cluster is where it was observed; empty when no cluster reported it.
	Cluster string
	// Reporter is the cluster whose controller reports it; empty for a service of the installation. A controller reports what runs on its
	// cluster and nothing else.
	Reporter string
	// Placement is the placement of the action that the reporter knows; nil if it knows of none. A report from an earlier one is refused.
	Placement *int32
	// BeginsReport means that it and those after it are another report than those before it; see state.Report.
	BeginsReport bool
	// NotBefore is when a new attempt starts to wait for its start; nil means now.
	NotBefore *time.Time
	// At is when it was observed; nil means now.
	At *time.Time
	// Event is the encoded workflow.ActionEvent; nil when no executor reported one.
	Event []byte
	// Error is the encoded core.ExecutionError of a FAILED or TIMED_OUT attempt.
	Error []byte
	// OutputURI is the attempt directory of a success; empty means the directory of the standard layout.
	OutputURI string
	ReportURI string
	// CacheStatus is a core.CatalogCacheStatus; 0 leaves the stored status.
	CacheStatus int16
	// CacheReason replaces the stored reason unless it is empty.
	CacheReason string
}

// Outcome is what happened to a transition.
type Outcome uint8

// The outcomes.
const (
	OutcomeApplied  Outcome = iota + 1
	OutcomeStale            // the same or a later position is stored
	OutcomeTerminal         // the action had ended
	OutcomeUnknown          // there is no such action
	OutcomeRefused          // the reporter does not run the action
)

// RecordTransitions applies observations in order, in one transaction, and returns the outcome of each.
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
	for i := range op.transitions {
		if err := op.transitions[i].check(b); err != nil {
			return err
		}
	}
	op.outcomes = make([]Outcome, len(op.transitions))
	for i := range op.transitions {
		if op.transitions[i].BeginsReport {
			b.report++
		}
		op.outcomes[i] = op.transitions[i].apply(b)
	}
	return nil
}

func (t *Transition) plan(p *plan) {
	if state.Terminal(t.To.Phase) {
		p.subtree(t.Action) // unfinished actions below it will be aborted
	} else {
		p.row(t.Action)
	}
}

// check refuses outputs and reports that are not in the directory of the run: what an attempt left is nowhere else.
func (t *Transition) check(b *batch) error {
	r := b.find(t.Action)
	if r == nil || r.run.root.RunOutputBase == "" {
		return nil
	}
	return t.checkWithin(r.run.root.RunOutputBase)
}

func (t *Transition) checkWithin(base string) error {
	for _, named := range []struct{ field, uri string }{{"outputs.output_uri", t.OutputURI}, {"outputs.report_uri", t.ReportURI}} {
		if named.uri != "" && !blobpath.Within(base, named.uri) {
			return rpc.InvalidArgument("event."+named.field, "%q of action %s is not in the directory of its run, %s", named.uri, t.Action, base)
		}
	}
	return nil
}

func (t *Transition) apply(b *batch) Outcome {
	r := b.find(t.Action)
	if r == nil {
		return OutcomeUnknown
	}
	if t.refused(r) {
		return OutcomeRefused
	}
	verdict, before := b.next(r, t.To), r.Attempt
	if !b.move(r, verdict) {
		if verdict.Outcome() == state.Ended {
			return OutcomeTerminal
		}
		return OutcomeStale
	}
	if r.Attempt > before {
		r.OutputURI, r.ReportURI, r.Error, r.begins = "", "", nil, t.NotBefore
	}
	t.project(b, r)
	b.record(r, t.Event, t.Error)
	return OutcomeApplied
}

// refused reports whether the reporter does not run the unfinished action: another cluster does, or the action waits for
// admission, which alone knows the limits.
func (t *Transition) refused(r *row) bool {
	if t.Reporter != "" && (t.Reporter != r.Cluster || !r.Runner.OnCluster()) {
		return true
	}
	if r.ActionType != schema.ActionTask || !r.Runner.Admitted() || state.Terminal(r.Phase) {
		return false
	}
	if r.Runner.OnCluster() && t.Cluster != "" && t.Cluster != r.Cluster {
		return true
	}
	if t.Placement != nil && *t.Placement < r.Placement {
		return true
	}
	return r.AdmittedAt == nil && !state.Terminal(t.To.Phase) && t.To.Phase != state.Queued
}

// project copies the observation, other than the phase, into the row.
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
		if r.OutputURI == "" && r.ActionType == schema.ActionTask {
			r.OutputURI = blobpath.AttemptDir(r.run.root.RunOutputBase, r.Name, uint32(r.Attempt)) //nolint:gosec // from 1
		}
	case state.Failed, state.TimedOut:
		r.Error = t.Error
	}
}
