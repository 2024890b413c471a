package store

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Abort says what to abort and why.
type Abort struct {
	// Action is the top of the subtree; a run is its root action.
	Action ident.Action
	Reason string
	// By is the encoded common.EnrichedIdentity of who wants it; may be nil.
	By []byte
}

// Abort aborts what is unfinished in a subtree. What has finished keeps its phase; when that is the action itself,
// nothing happens. It answers NotFound when there is no such action.
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

// abortTree aborts an unfinished action and what is unfinished below it.
func (b *batch) abortTree(target *row, reason string, by []byte) {
	if state.Terminal(target.Phase) {
		return
	}
	b.abort(target, reason, by)
	for _, r := range target.run.unfinished(target.Name) {
		b.abort(r, reason, by)
	}
}

func (b *batch) abort(r *row, reason string, by []byte) {
	b.move(r, state.Position{Attempt: r.Attempt, Phase: state.Aborted, Version: r.Version})
	r.AbortReason, r.AbortedBy = reason, by
	ended := b.notAfterNow(nil, r.CreatedAt)
	r.EndedAt = &ended
	b.record(r, nil, nil)
}

// abortOrphans aborts what actions that ended in this batch have left unfinished below them.
func (b *batch) abortOrphans(run *run) {
	for i := 0; i < len(run.ended); i++ { // aborting appends to it
		parent := run.ended[i]
		if !state.Terminal(parent.Phase) {
			continue // another attempt followed
		}
		reason := fmt.Sprintf("parent action %s ended: %s", parent.Name, phaseName(parent.Phase))
		for _, r := range run.unfinished(parent.Name) {
			b.abort(r, reason, nil)
		}
	}
}

func phaseName(p state.Phase) string {
	const prefix = len("ACTION_PHASE_")
	return common.ActionPhase(p).String()[prefix:]
}
