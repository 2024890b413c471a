package store

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// NewAction is a child action to record: its row, without ids and state, and its spec. A trace is recorded finished,
// with Phase, StartedAt, EndedAt, OutputURI and Error. For a task or condition whose result comes from another run,
// the row has the phase RECOVERED and the result.
type NewAction struct {
	Action schema.Action
	Spec   NewSpec
	// Traces are traces of another run whose results this action may reuse.
	Traces []RecoveredTrace
	// Webhook says that the condition has a webhook to call.
	Webhook bool
	// ReadInputs says that the inputs may contain the data of artifacts.
	ReadInputs bool
}

// RecordAction stores a child of an action. It leaves an action as it is that is already stored under the same parent
// with the same type. It returns NotFound when the run or the parent does not exist, Aborted when one of them has
// ended.
func (w *Writer) RecordAction(ctx context.Context, action NewAction) error {
	return w.submit(ctx, &recordAction{NewAction: action})
}

type recordAction struct{ NewAction }

func (op *recordAction) id() ident.Action {
	a := &op.Action
	return ident.Action{Run: ident.Run{Project: a.Project, Domain: a.Domain, Name: a.RunName}, Name: a.Name}
}

func (op *recordAction) parent() ident.Action {
	return ident.Action{Run: op.id().Run, Name: *op.Action.ParentName}
}

func (op *recordAction) plan(p *plan) {
	p.row(op.id())
	p.row(op.parent())
	if op.Action.ActionType == schema.ActionTask {
		p.queues[op.Action.Queue] = struct{}{}
	}
	for i := range op.Traces {
		p.row(ident.Action{Run: op.id().Run, Name: op.Traces[i].Name}) // its name may be taken
	}
	p.newRows += 1 + len(op.Traces)
}

func (op *recordAction) apply(b *batch) error {
	run := b.runs[op.id().Run]
	if run == nil {
		return rpc.NotFound("run %s does not exist", op.id().Run)
	}
	if state.Terminal(run.root.Phase) {
		return rpc.Aborted("run %s has ended", op.id().Run)
	}
	parent := b.find(op.parent())
	if parent == nil {
		return rpc.NotFound("parent action %s does not exist", op.parent())
	}
	if existing := b.find(op.id()); existing != nil {
		return op.same(b, existing)
	}
	if state.Terminal(parent.Phase) {
		return rpc.Aborted("parent action %s has ended", op.parent())
	}
	if parent.Hold != schema.HoldNone {
		return rpc.FailedPrecondition("parent action %s has not started", op.parent())
	}
	if parent.ActionType != schema.ActionTask {
		return rpc.InvalidArgument("parent_action_name", "action %s is not a task and cannot have children", op.parent())
	}
	return op.insert(b, parent)
}

// same accepts a repeated request. A name that belongs to a different action is refused with an error that clients
// treat as final: they treat AlreadyExists as success and would wait forever.
func (op *recordAction) same(b *batch, existing *row) error {
	if existing.ParentName == nil || *existing.ParentName != *op.Action.ParentName {
		return rpc.InvalidArgument("action_id.name", "an action named %s exists with another parent", op.Action.Name)
	}
	if existing.ActionType != op.Action.ActionType {
		return rpc.InvalidArgument("action_id.name", "an action named %s exists with another type", op.Action.Name)
	}
	if existing.ActionType == schema.ActionTrace {
		b.retrace(existing, &op.Action)
	}
	return nil
}

func (op *recordAction) insert(b *batch, parent *row) error {
	root := parent.run.root
	r := &row{Root: schema.Root{Action: op.Action}}
	r.begin()
	r.CreatedBy, r.CreatedBySubject = root.CreatedBy, root.CreatedBySubject
	if r.Queue == "" {
		r.Queue = root.Queue
	}
	if r.Priority == 0 {
		r.Priority = root.Priority
	}
	// A child is never older than its parent, so that creation order lists parents first.
	r.CreatedAt = b.notAfterNow(nil, parent.CreatedAt)
	if r.ActionType == schema.ActionTrace {
		r.CreatedAt = b.notAfterNow(op.Action.StartedAt, parent.CreatedAt)
		ended := b.notAfterNow(op.Action.EndedAt, r.CreatedAt)
		r.StartedAt, r.EndedAt = new(time.Time), &ended
		*r.StartedAt = r.CreatedAt
	}
	if err := b.enter(r, root); err != nil {
		return err
	}
	if r.Phase == state.Recovered {
		r.EndedAt = &r.CreatedAt
	}
	r.limit()
	b.keep(spec{digest: op.Spec.Digest, body: op.Spec.Body, kind: op.Spec.Kind})
	b.create(r)
	if op.Webhook && r.Phase == state.Paused {
		b.webhooks = append(b.webhooks, r)
	}
	if op.ReadInputs {
		b.reads = append(b.reads, r)
	}
	if r.ActionType == schema.ActionTask {
		if r.Asks != nil {
			asks := *r.Asks
			asks.Parent = parent.Cluster
			r.Asks = &asks
		}
		b.admit(r)
	}
	b.createTraces(r, op.Traces)
	return nil
}
