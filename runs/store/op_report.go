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

// Reported is what a client says about one action of a tracked run.
type Reported struct {
	Transition
	// New is the action to record if it is not stored yet; nil when the report does not say what the action is. Its
	// CreatedAt is when it began, by the clock of the client.
	New *NewAction
	// AbortReason and AbortedBy are stored if the phase is ABORTED. AbortedBy is an encoded common.EnrichedIdentity.
	AbortReason string
	AbortedBy   []byte
}

// Report applies what the client of a tracked run says, in order and in one transaction, and returns an error for each
// report that is refused; the others are applied. A report that is known, or older than what is known, changes nothing
// and is not an error. It returns NotFound when the run does not exist.
func (w *Writer) Report(ctx context.Context, run ident.Run, reports []Reported) ([]error, error) {
	op := &reportOp{run: run, reports: reports}
	if err := w.submit(ctx, op); err != nil {
		return nil, err
	}
	return op.refused, nil
}

type reportOp struct {
	run     ident.Run
	reports []Reported
	refused []error
}

func (op *reportOp) plan(p *plan) {
	p.run(op.run)
	for i := range op.reports {
		r := &op.reports[i]
		r.plan(p)
		if r.New != nil {
			p.row(ident.Action{Run: op.run, Name: *r.New.Action.ParentName})
			p.newRows++
		}
	}
}

func (op *reportOp) apply(b *batch) error {
	if b.runs[op.run] == nil {
		return rpc.NotFound("tracked run %s does not exist", op.run)
	}
	op.refused = make([]error, len(op.reports))
	for i := range op.reports {
		op.refused[i] = op.reports[i].apply(b)
	}
	return nil
}

func (r *Reported) apply(b *batch) error {
	if err := r.check(b); err != nil {
		return err
	}
	known := b.find(r.Action)
	if known == nil {
		created, err := r.create(b)
		if err != nil {
			return err
		}
		known = created
	}
	verdict, before := state.NextTracked(known.standing(), r.To, b.report), known.Attempt
	if !b.move(known, verdict) {
		if known.Phase == state.Aborted && r.To.Phase != state.Aborted {
			return rpc.FailedPrecondition("action %s was aborted: %s", r.Action, known.AbortReason)
		}
		return nil
	}
	if known.Attempt > before {
		known.OutputURI, known.ReportURI, known.Error = "", "", nil
	}
	r.project(b, known)
	if known.ActionType == schema.ActionTrace && known.OutputURI != "" {
		known.OutputURI = blobpath.OutputsPath(known.OutputURI) // of traces, rows have the file itself
	}
	if r.To.Phase == state.Aborted {
		known.AbortReason, known.AbortedBy = r.AbortReason, r.AbortedBy
	}
	b.record(known, r.Event, r.Error)
	return nil
}

// check refuses phases that are not known, and data outside of the directory of the run.
func (r *Reported) check(b *batch) error {
	if !state.Known(r.To.Phase) {
		return rpc.InvalidArgument("event.phase", "%d is not a phase", r.To.Phase)
	}
	if root := b.runs[r.Action.Run].root; b.find(r.Action) == nil {
		return r.checkWithin(root.RunOutputBase)
	}
	return r.Transition.check(b)
}

// create records an action at its first report.
func (r *Reported) create(b *batch) (*row, error) {
	if r.New == nil {
		return nil, rpc.NotFound("action %s does not exist, and its first report must have a task or a trace", r.Action)
	}
	parent := b.find(ident.Action{Run: r.Action.Run, Name: *r.New.Action.ParentName})
	if parent == nil {
		return nil, rpc.NotFound("parent action %s of %s does not exist", *r.New.Action.ParentName, r.Action)
	}
	if root := parent.run.root; root.Phase == state.Aborted || parent.Phase == state.Aborted {
		return nil, rpc.FailedPrecondition("action %s is below an action that was aborted", r.Action)
	}
	created := &row{Root: schema.Root{Action: r.New.Action}}
	created.begin()
	created.Runner = schema.RunnerClient
	created.CreatedBy, created.CreatedBySubject = parent.run.root.CreatedBy, parent.run.root.CreatedBySubject
	began := r.New.Action.CreatedAt
	created.CreatedAt = b.notAfterNow(&began, parent.CreatedAt)
	b.keep(spec{digest: r.New.Spec.Digest, body: r.New.Spec.Body, kind: r.New.Spec.Kind})
	b.create(created)
	return created, nil
}

// mayRetry reports whether a later report may start another attempt of an action that has ended.
func (r *row) mayRetry() bool { return !r.Runner.Admitted() && state.Retryable(r.Phase) }

// retryGrace is how long the unfinished actions below a failed attempt of a client are left to the next attempt.
const retryGrace = 5 * time.Minute

// abortLater makes a sweep of what is unfinished below a failed action due, unless another attempt begins before.
func (b *batch) abortLater(parent *row) {
	if !parent.unread && len(parent.run.unfinished(parent.Name)) == 0 {
		return
	}
	at := b.now.Add(retryGrace)
	parent.WakeAt, parent.Due = &at, schema.DueSubtree
	b.touch(parent)
}

// expectReport sets when the client of a run is taken for dead: each report of the run changes its root row.
func (b *batch) expectReport(r *row) {
	switch {
	case state.Terminal(r.Phase):
	case r.ParentName == nil && b.silence > 0:
		at := b.now.Add(b.silence)
		r.WakeAt, r.Due = &at, schema.DueSilent
	default:
		r.WakeAt, r.Due = nil, schema.DueNothing
	}
}
