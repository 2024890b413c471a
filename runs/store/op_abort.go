package store

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Abort says what to abort and why.
type Abort struct {
	// Action is the top of the subtree; the root action represents the run.
	Action ident.Action
	Reason string
	// By is the encoded common.EnrichedIdentity of the caller; may be nil.
	By []byte
}

// Abort aborts the unfinished actions of a subtree. Finished actions keep their phase; if Action itself has finished,
// nothing changes. It returns NotFound when the action does not exist.
func (w *Writer) Abort(ctx context.Context, abort Abort) error {
	return w.submit(ctx, &abortOp{Abort: abort})
}

type abortOp struct{ Abort }

func (op *abortOp) plan(p *plan) { p.subtree(op.Action) }

func (op *abortOp) apply(b *batch) error {
	target := b.find(op.Action)
	if target == nil {
		return rpc.NotFound("action %s does not exist", op.Action)
	}
	b.abortTree(target, op.Reason, op.By)
	return nil
}

// abortTree aborts an unfinished action and everything unfinished below it, or leaves the latter to sweeps.
func (b *batch) abortTree(target *row, reason string, by []byte) {
	if state.Terminal(target.Phase) {
		return
	}
	b.abort(target, reason, by)
	if target.unread {
		return
	}
	for _, r := range target.run.unfinished(target.Name) {
		b.abort(r, reason, by)
	}
}

func (b *batch) abort(r *row, reason string, by []byte) {
	if !b.move(r, b.next(r, r.in(state.Aborted))) {
		return
	}
	r.AbortReason, r.AbortedBy = reason, by
	ended := b.notAfterNow(nil, r.CreatedAt)
	r.EndedAt = &ended
	b.record(r, nil, nil)
}
