package store

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/internal/timelimit"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Wake is an action that was found to be due.
type Wake struct {
	Ref
	Due Due
	// Start is how to begin when that is what is due.
	Start *Start
	// CacheStatus and CacheReason say what became of the outputs in the cache, where the action succeeds by this.
	CacheStatus int16
	CacheReason string
}

// Start says how an action begins that the engine runs itself.
type Start struct {
	// Postpone says that nothing can be said yet, and when to look again; the other fields mean nothing then.
	Postpone time.Duration
	// Failure is why it cannot run.
	Failure *core.ExecutionError
	// Lasts is how long it runs; with 0 it ends as it begins.
	Lasts time.Duration
	// Limit is how long an attempt may run; 0 means without limit.
	Limit time.Duration
	// Outputs says that it has written its outputs.
	Outputs bool
}

// Patience is how long executors are waited for before the engine ends what they have.
type Patience struct {
	// Grace is how long after its time an action may live.
	Grace time.Duration
	// Until is a time before which nothing is ended that an executor has, for it may have had no chance to report yet.
	Until time.Time
}

// Wake does with actions what is due, in one transaction, and answers how many changed. What is not due any more, by the
// rows as they are then, is left alone.
func (w *Writer) Wake(ctx context.Context, due []Wake, patience Patience) (int, error) {
	if len(due) == 0 {
		return 0, nil
	}
	op := &wakeOp{due: due, patience: patience}
	if err := w.submit(ctx, op); err != nil {
		return 0, err
	}
	return op.changed, nil
}

type wakeOp struct {
	due      []Wake
	patience Patience
	changed  int
}

func (op *wakeOp) plan(p *plan) {
	for i := range op.due {
		w := &op.due[i]
		switch w.Due {
		case DueStart, DueEnd, DueRuntime: // it has no children
			p.runIDs[w.RunID] = struct{}{}
			p.ids[w.ID] = struct{}{}
		default:
			p.subtree(w.ident())
		}
	}
}

func (op *wakeOp) apply(b *batch) error {
	op.changed = 0
	for i := range op.due {
		w := &op.due[i]
		r := b.find(w.ident())
		if r == nil || r.ID != w.ID || r.Due != w.Due || r.WakeAt == nil || r.WakeAt.After(b.now) || state.Terminal(r.Phase) {
			continue
		}
		op.changed++
		op.wake(b, r, w)
	}
	return nil
}

func (op *wakeOp) wake(b *batch, r *row, w *Wake) {
	if w.CacheStatus != 0 {
		r.CacheStatus, r.CacheReason = w.CacheStatus, w.CacheReason
	}
	switch r.Due {
	case DueStart:
		op.start(b, r, w.Start)
	case DueEnd:
		b.end(r, state.Succeeded, *r.WakeAt, nil)
	case DueRuntime:
		ran := time.Duration(0)
		if r.StartedAt != nil {
			ran = r.WakeAt.Sub(*r.StartedAt)
		}
		b.timeOut(r, timelimit.Runtime, ran, *r.WakeAt)
	case DueQueued, DueDeadline:
		if r.Runner == RunnerExecutor && r.AdmittedAt != nil && r.ActionType == actionTask {
			op.wait(b, r)
			return
		}
		b.timeOutNow(r)
	case DueQueuedLate, DueDeadlineLate:
		b.timeOutNow(r)
	}
}

// wait gives the executor its chance.
func (op *wakeOp) wait(b *batch, r *row) {
	late := map[Due]Due{DueQueued: DueQueuedLate, DueDeadline: DueDeadlineLate}[r.Due]
	at := b.now.Add(op.patience.Grace)
	if at.Before(op.patience.Until) {
		at = op.patience.Until
	}
	r.WakeAt, r.Due = &at, late
	b.touch(r)
}

// start begins an action of the engine's own.
func (op *wakeOp) start(b *batch, r *row, start *Start) {
	switch {
	case over(r.DeadlineAt, b.now), over(r.QueuedUntil, b.now):
		b.timeOutNow(r)
	case start == nil || start.Postpone > 0:
		op.postpone(b, r, start)
	case start.Failure != nil:
		b.end(r, state.Failed, b.now, start.Failure)
	default:
		r.StartedAt = &b.now
		b.move(r, state.Position{Attempt: r.Attempt, Phase: state.Running, Version: r.Version})
		b.record(r, b.ownEvent(r, b.now, nil), nil)
		if start.Outputs {
			r.OutputURI = layout.AttemptDir(r.run.root.RunOutputBase, r.Name, uint32(r.Attempt)) //nolint:gosec // from 1
		}
		if start.Lasts <= 0 {
			b.end(r, state.Succeeded, b.now, nil)
			return
		}
		lasts, by := start.Lasts, DueEnd
		if start.Limit > 0 && start.Limit < lasts {
			lasts, by = start.Limit, DueRuntime
		}
		ends := b.now.Add(lasts).Truncate(time.Microsecond)
		r.ends, r.endsBy = &ends, by
	}
}

func (op *wakeOp) postpone(b *batch, r *row, start *Start) {
	pause := time.Second
	if start != nil {
		pause = start.Postpone
	}
	at := b.now.Add(pause)
	for _, limit := range []*time.Time{r.QueuedUntil, r.DeadlineAt} {
		if limit != nil && limit.Before(at) {
			at = *limit
		}
	}
	r.WakeAt = &at
	b.touch(r)
}

func over(limit *time.Time, now time.Time) bool { return limit != nil && !limit.After(now) }

// timeOutNow ends an action whose time is over now, whichever limit that is.
func (b *batch) timeOutNow(r *row) {
	switch {
	case r.ActionType == actionCondition:
		b.timeOut(r, timelimit.Condition, r.deadline(), *r.DeadlineAt)
	case over(r.DeadlineAt, b.now):
		b.timeOut(r, timelimit.Deadline, r.deadline(), b.now)
	default:
		b.timeOut(r, timelimit.Queued, r.queuedLimit(), b.now)
	}
}

func (b *batch) timeOut(r *row, limit timelimit.Limit, d time.Duration, at time.Time) {
	b.end(r, state.TimedOut, at, &core.ExecutionError{
		Code: limit.Code(), Message: limit.Message(d), Kind: core.ExecutionError_USER,
		Recoverability: core.ContainerError_NON_RECOVERABLE, Timestamp: timestamppb.New(at),
	})
}

// end ends an action by the engine's own decision.
func (b *batch) end(r *row, phase state.Phase, at time.Time, failure *core.ExecutionError) {
	to := state.Position{Attempt: r.Attempt, Phase: phase, Version: r.Version}
	if state.Next(r.position(), to) != state.Advance {
		return
	}
	notBefore := r.CreatedAt
	if r.StartedAt != nil {
		notBefore = *r.StartedAt
	}
	ended := b.notAfterNow(&at, notBefore)
	b.move(r, to)
	r.EndedAt = &ended
	event := b.ownEvent(r, ended, failure)
	if failure != nil {
		r.Error = encode(failure)
	}
	b.record(r, event, r.Error)
}

// ownEvent is what an executor would have reported.
func (b *batch) ownEvent(r *row, at time.Time, failure *core.ExecutionError) []byte {
	event := &workflow.ActionEvent{
		Id:           r.ident().Proto(),
		Attempt:      uint32(r.Attempt), //nolint:gosec // from 1
		Phase:        common.ActionPhase(r.Phase),
		Version:      uint32(r.Version), //nolint:gosec // counts observations
		UpdatedTime:  timestamppb.New(at),
		ReportedTime: timestamppb.New(b.now),
		CacheStatus:  core.CatalogCacheStatus(r.CacheStatus),
	}
	if failure != nil {
		event.ErrorInfo = &workflow.ErrorInfo{Code: failure.GetCode(), Message: failure.GetMessage(), Kind: workflow.ErrorInfo_KIND_USER}
	}
	if r.Phase == state.Succeeded && r.OutputURI != "" {
		event.Outputs = &task.OutputReferences{OutputUri: r.OutputURI + "/" + layout.OutputsFile}
	}
	return encode(event)
}

// encode cannot fail for messages of ours: their texts are valid.
func encode(message proto.Message) []byte {
	body, err := proto.Marshal(message)
	if err != nil {
		return nil
	}
	return body
}
