package store

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Queued names an action that waits for admission.
type Queued struct {
	RunID, ID int64
	// Asks is what it asks of a cluster; nil if one cluster is known. It is read only.
	Asks *placement.Request
}

// Admit makes queued actions live, in one transaction, and chooses their clusters. It skips actions that are no longer queued,
// takes those out of the queue that no cluster has room for, and returns how many it admitted. If the name of the lease is set, it returns Aborted when this replica no longer holds the lease:
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
	loaded := b.loadedByID()
	for _, q := range op.queued {
		if r := loaded[q.ID]; r != nil && r.queued() && !state.Terminal(r.run.root.Phase) {
			r.Asks = q.Asks
			if b.makeLive(r) {
				op.admitted++
			}
			b.touch(r)
		}
	}
	return nil
}

// Release puts actions back into the queue that wait for a cluster, in one transaction, and returns how many it put back. Limits
// are asked again when they are admitted.
func (w *Writer) Release(ctx context.Context, waiting []Queued) (int, error) {
	if len(waiting) == 0 {
		return 0, nil
	}
	op := &releaseOp{waiting: waiting}
	if err := w.submit(ctx, op); err != nil {
		return 0, err
	}
	return op.released, nil
}

type releaseOp struct {
	waiting  []Queued
	released int
}

func (op *releaseOp) plan(p *plan) {
	for _, q := range op.waiting {
		p.runIDs[q.RunID] = struct{}{}
		p.ids[q.ID] = struct{}{}
	}
}

func (op *releaseOp) apply(b *batch) error {
	op.released = 0
	loaded := b.loadedByID()
	for _, q := range op.waiting {
		if r := loaded[q.ID]; r != nil && r.Hold == schema.HoldPlacement && !state.Terminal(r.Phase) {
			r.Hold = schema.HoldNone
			b.touch(r)
			op.released++
		}
	}
	return nil
}

// loadedByID are the rows of the batch by their ids.
func (b *batch) loadedByID() map[int64]*row {
	loaded := map[int64]*row{}
	for _, run := range b.byID {
		for _, r := range run.rows {
			loaded[r.ID] = r
		}
	}
	return loaded
}
