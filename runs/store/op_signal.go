package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Signal is the value for a condition. The caller has checked its type.
type Signal struct {
	Action ident.Action
	Info   *workflow.SignalInfo
	// Comment is what was said with the value; it may be empty.
	Comment string
}

// Signal gives a paused condition its value, which makes it succeed. Repeating the same value is not an error, unless it
// comes with another comment, which would be lost. A different value, a finished condition, or an action that is not a
// condition returns FailedPrecondition.
func (w *Writer) Signal(ctx context.Context, signal Signal) error {
	return w.submit(ctx, &signalOp{Signal: signal})
}

type signalOp struct{ Signal }

func (op *signalOp) plan(p *plan) { p.row(op.Action) }

func (op *signalOp) apply(b *batch) error {
	r := b.find(op.Action)
	if r == nil {
		return rpc.NotFound("action %s does not exist", op.Action)
	}
	if r.ActionType != schema.ActionCondition {
		return rpc.FailedPrecondition("action %s is not a condition", op.Action)
	}
	if state.Terminal(r.Phase) {
		return op.again(r)
	}
	info, err := proto.Marshal(&enginev1.StoredSignal{SignalledBy: op.Info.GetSignalledBy(), Output: op.Info.GetOutput(), Comment: op.Comment})
	if err != nil {
		return rpc.Internal(err, "the value cannot be encoded")
	}
	if !b.move(r, b.next(r, r.in(state.Succeeded))) {
		return rpc.FailedPrecondition("condition %s is not waiting for a signal: its phase is %s", op.Action, state.Name(r.Phase))
	}
	r.Signal = info
	ended := b.notAfterNow(nil, r.CreatedAt)
	r.EndedAt = &ended
	b.record(r, nil, nil)
	return nil
}

func (op *signalOp) again(r *row) error {
	if len(r.Signal) == 0 {
		return rpc.FailedPrecondition("condition %s has ended without a value: its phase is %s", op.Action, state.Name(r.Phase))
	}
	var before enginev1.StoredSignal
	if err := proto.Unmarshal(r.Signal, &before); err != nil {
		return rpc.DataLoss(err, "the stored value of %s cannot be read", op.Action)
	}
	if !sameLiteral(before.GetOutput(), op.Info.GetOutput()) {
		return rpc.FailedPrecondition("condition %s already has another value", op.Action)
	}
	if op.Comment != "" && op.Comment != before.GetComment() {
		return rpc.FailedPrecondition("condition %s already has this value, without this comment", op.Action)
	}
	return nil
}

func sameLiteral(a, b *core.Literal) bool { return proto.Equal(a, b) }
