package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// StatusUpdate is a status set by a caller other than the executor: a transition, an abort if the phase is ABORTED,
// or, with Output, the value of a condition. An attempt of 0 means the current attempt.
type StatusUpdate struct {
	Transition
	Output      *core.Literal
	Principal   *common.EnrichedIdentity
	AbortReason string
}

// UpdateStatus sets a status. A status that does not advance the action is not an error. It returns NotFound when the
// action does not exist.
func (w *Writer) UpdateStatus(ctx context.Context, update StatusUpdate) error {
	return w.submit(ctx, &updateStatus{StatusUpdate: update})
}

type updateStatus struct{ StatusUpdate }

func (op *updateStatus) plan(p *plan) { op.Transition.plan(p) }

func (op *updateStatus) apply(b *batch) error {
	r := b.find(op.Action)
	if r == nil {
		return rpc.NotFound("action %s does not exist", op.Action)
	}
	switch {
	case op.Output != nil:
		info := &workflow.SignalInfo{SignalledBy: op.Principal, Output: op.Output}
		return (&signalOp{Signal: Signal{Action: op.Action, Info: info}}).apply(b)
	case op.To.Phase == state.Aborted:
		by, err := encodeIdentity(op.Principal)
		if err != nil {
			return err
		}
		b.abortTree(r, op.AbortReason, by)
		return nil
	}
	t := op.Transition
	if t.To.Attempt == 0 {
		t.To.Attempt = r.Attempt
	}
	t.apply(b)
	return nil
}

func encodeIdentity(identity *common.EnrichedIdentity) ([]byte, error) {
	if identity == nil {
		return nil, nil
	}
	body, err := proto.Marshal(identity)
	if err != nil {
		return nil, rpc.Internal(err, "the identity cannot be encoded")
	}
	return body, nil
}
