package store

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Reclaim takes an attempt back from the cluster that runs it.
type Reclaim struct {
	schema.Ref
	// Cluster and Attempt are what is taken back: nothing happens if another cluster runs the action now, or another attempt.
	Cluster string
	Attempt int32
	// Waiting takes the attempt back only if its cluster has not reported that it began.
	Waiting bool
	// Lost ends the attempt, and Next queues the one after it; nil if none follows.
	Lost Transition
	Next *Transition
}

// Reclaim ends attempts that their clusters cannot end, and queues the next ones for other clusters, in one transaction. It returns how
// many it ended. Whatever the old cluster reports afterwards is refused: the action is not on it, and its attempt is over. Two callers
// that take back the same attempt end it once.
func (w *Writer) Reclaim(ctx context.Context, attempts []Reclaim) (int, error) {
	if len(attempts) == 0 {
		return 0, nil
	}
	op := &reclaim{attempts: attempts}
	if err := w.submit(ctx, op); err != nil {
		return 0, err
	}
	return op.ended, nil
}

type reclaim struct {
	attempts []Reclaim
	ended    int
}

func (op *reclaim) plan(p *plan) {
	for i := range op.attempts {
		one := &op.attempts[i]
		p.runIDs[one.RunID] = struct{}{}
		p.ids[one.ID] = struct{}{}
		if one.Next == nil {
			p.subtrees[one.Ident()] = struct{}{} // what is unfinished below it is aborted
		}
	}
}

func (op *reclaim) apply(b *batch) error {
	op.ended = 0
	for i := range op.attempts {
		b.report++ // each is a report: it says in one breath that an attempt was lost and that the next one begins
		if op.attempts[i].apply(b) {
			op.ended++
		}
	}
	return nil
}

func (o *Reclaim) apply(b *batch) bool {
	r := b.find(o.Ident())
	if r == nil || r.ID != o.ID || !r.live() || !r.Runner.OnCluster() || r.Cluster != o.Cluster || r.Attempt != o.Attempt {
		return false
	}
	if o.Waiting && !r.waits() {
		return false
	}
	if o.Lost.apply(b) != OutcomeApplied {
		return false
	}
	if o.Next == nil {
		return true
	}
	if o.Next.apply(b) != OutcomeApplied {
		return false
	}
	// Admission alone decides where it runs next. Until then it is on no cluster, so that a report of any is refused.
	r.AdmittedAt, r.Cluster, r.AvoidCluster = nil, "", o.Cluster
	r.Placement++
	return true
}
