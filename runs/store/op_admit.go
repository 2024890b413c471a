package store

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Queued names an action that waits for admission.
type Queued struct{ RunID, ID int64 }

// Admit makes queued actions live, in one transaction. It skips actions that are no longer queued, and returns how
// many it admitted. If the name of the lease is set, it returns Aborted when this replica no longer holds the lease:
// two replicas that admit at the same time would exceed limits.
func (w *Writer) Admit(ctx context.Context, lease string, queued []Queued) (int, error) {
	if len(queued) == 0 {
		return 0, nil
	}
	op := &admit{lease: lease, queued: queued}
	if err := w.submit(ctx, op); err != nil {
		return 0, err
	}
	return op.admitted, nil
}

type admit struct {
	lease    string
	queued   []Queued
	admitted int
}

func (op *admit) plan(p *plan) {
	if op.lease != "" {
		p.lease = op.lease // there is one loop, so one lease
	}
	for _, q := range op.queued {
		p.runIDs[q.RunID] = struct{}{}
		p.ids[q.ID] = struct{}{}
	}
}

func (op *admit) apply(b *batch) error {
	op.admitted = 0
	if op.lease != "" && !b.leased {
		return rpc.Aborted("this replica no longer holds the lease %s", op.lease)
	}
	loaded := make(map[int64]*row, len(op.queued))
	for _, run := range b.byID {
		for _, r := range run.rows {
			loaded[r.ID] = r
		}
	}
	for _, q := range op.queued {
		if r := loaded[q.ID]; r != nil && r.queued() && !state.Terminal(r.run.root.Phase) {
			b.makeLive(r)
			b.touch(r)
			op.admitted++
		}
	}
	return nil
}
