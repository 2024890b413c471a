package store

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Settlement is the result of resolving the hold of an action.
type Settlement struct {
	RunID, ID int64
	// From is the hold that this resolves. An action with a different hold is left alone.
	From schema.Hold
	// To is the new hold. Without one, the action moves on to admission.
	To schema.Hold
	// CacheStatus is a core.CatalogCacheStatus.
	CacheStatus int16
	// Reason says, for people, why the cache missed, what the action waits for, or where the hit came from.
	Reason string
	// Hit ends the action with outputs from the cache.
	Hit *Hit
}

// Hit is a success that did not run.
type Hit struct {
	// OutputURI is the directory with the outputs.
	OutputURI string
	// Event is the encoded workflow.ActionEvent.
	Event []byte
}

// Settle applies settlements in one transaction and returns how many still applied.
func (w *Writer) Settle(ctx context.Context, settlements []Settlement) (int, error) {
	if len(settlements) == 0 {
		return 0, nil
	}
	op := &settle{settlements: settlements}
	if err := w.submit(ctx, op); err != nil {
		return 0, err
	}
	return op.settled, nil
}

type settle struct {
	settlements []Settlement
	settled     int
}

func (op *settle) plan(p *plan) {
	for i := range op.settlements {
		p.runIDs[op.settlements[i].RunID] = struct{}{}
		p.ids[op.settlements[i].ID] = struct{}{}
	}
}

func (op *settle) apply(b *batch) error {
	op.settled = 0
	wanted := make(map[int64]*Settlement, len(op.settlements))
	for i := range op.settlements {
		wanted[op.settlements[i].ID] = &op.settlements[i]
	}
	loaded := make(map[int64]*row, len(wanted))
	for _, run := range b.byID {
		for _, r := range run.rows {
			if wanted[r.ID] != nil {
				loaded[r.ID] = r
			}
		}
	}
	for i := range op.settlements { // in the given order, which is that of admission
		s := &op.settlements[i]
		r := loaded[s.ID]
		if r == nil || r.Hold == schema.HoldNone || r.Hold != s.From || state.Terminal(r.Phase) {
			continue
		}
		if s.apply(b, r) {
			op.settled++
		}
	}
	return nil
}

func (s *Settlement) apply(b *batch, r *row) bool {
	if s.Hit == nil {
		if r.Hold == s.To && r.CacheReason == s.Reason {
			return false
		}
		r.Hold, r.CacheStatus, r.CacheReason = s.To, s.CacheStatus, s.Reason
		b.touch(r)
		b.admit(r)
		return true
	}
	if !b.move(r, b.next(r, r.in(state.Succeeded))) {
		return false
	}
	ended := b.notAfterNow(nil, r.CreatedAt)
	r.EndedAt = &ended
	r.OutputURI, r.CacheStatus, r.CacheReason = s.Hit.OutputURI, s.CacheStatus, s.Reason
	b.record(r, s.Hit.Event, nil)
	return true
}
