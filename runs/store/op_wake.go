package store

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/timelimit"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Wake is an action with due work.
type Wake struct {
	schema.Ref
	Due schema.Due
	// Start says how to start the action, if its start is due.
	Start *Start
	// CacheStatus and CacheReason describe what happened to the outputs in the cache, if the action succeeds now.
	CacheStatus int16
	CacheReason string
}

// Start says how an action starts that the runs service runs itself.
type Start struct {
	// Postpone delays the decision until this time; the other fields are ignored then.
	Postpone time.Duration
	// Failure is why it cannot run.
	Failure *core.ExecutionError
	// Lasts is how long it runs; with 0 it ends as soon as it starts.
	Lasts time.Duration
	// Limit bounds how long an attempt may run; 0 means no limit.
	Limit time.Duration
	// Outputs says that the action has written its outputs.
	Outputs bool
}

// ExecutorGrace is how long executors may take to end their own actions before the writer ends them.
type ExecutorGrace struct {
	// Grace is how long an action may live past its limit.
	Grace time.Duration
	// Until is a time before which no action of an executor is ended, because the executor may not have been able to
	// report.
	Until time.Time
}

// Wake handles the due work of actions, in one transaction, and returns how many changed. It leaves alone actions
// whose work, by their current rows, is no longer due.
func (w *Writer) Wake(ctx context.Context, due []Wake, grace ExecutorGrace) (int, error) {
	if len(due) == 0 {
		return 0, nil
	}
	op := &wakeOp{due: due, grace: grace}
	if err := w.submit(ctx, op); err != nil {
		return 0, err
	}
	return op.changed, nil
}

type wakeOp struct {
	due     []Wake
	grace   ExecutorGrace
	changed int
}

func (op *wakeOp) plan(p *plan) {
	for i := range op.due {
		w := &op.due[i]
		p.runIDs[w.RunID] = struct{}{}
		p.ids[w.ID] = struct{}{}
		if w.Due == schema.DueSubtree {
			p.sweeps[w.Ident()] = struct{}{}
		} else {
			p.subtrees[w.Ident()] = struct{}{}
		}
	}
}

func (op *wakeOp) apply(b *batch) error {
	op.changed = 0
	for i := range op.due {
		w := &op.due[i]
		r := b.find(w.Ident())
		if r == nil || r.ID != w.ID || r.Due != w.Due || r.WakeAt == nil || r.WakeAt.After(b.now) {
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
	switch r.Due { //nolint:exhaustive // when nothing is due, nothing happens
	case schema.DueStart:
		op.start(b, r, w.Start)
	case schema.DueEnd:
		b.end(r, state.Succeeded, *r.WakeAt, nil)
	case schema.DueRuntime:
		ran := time.Duration(0)
		if r.StartedAt != nil {
			ran = r.WakeAt.Sub(*r.StartedAt)
		}
		b.timeOut(r, timelimit.Runtime, ran, *r.WakeAt)
	case schema.DueQueued, schema.DueDeadline:
		if r.Runner.HasObject() && r.AdmittedAt != nil && r.ActionType == schema.ActionTask {
			op.wait(b, r)
			return
		}
		b.timeOutNow(r)
	case schema.DueQueuedLate, schema.DueDeadlineLate:
		b.timeOutNow(r)
	case schema.DueSubtree:
		b.sweep(r)
	case schema.DueSilent:
		b.abortTree(r, fmt.Sprintf("no report for %s; the client may have died", b.silence), nil)
	}
}

// wait gives the executor its grace period.
func (op *wakeOp) wait(b *batch, r *row) {
	late := map[schema.Due]schema.Due{schema.DueQueued: schema.DueQueuedLate, schema.DueDeadline: schema.DueDeadlineLate}[r.Due]
	at := b.now.Add(op.grace.Grace)
	if at.Before(op.grace.Until) {
		at = op.grace.Until
	}
	r.WakeAt, r.Due = &at, late
	b.touch(r)
}

// start starts an action that the runs service runs itself.
func (op *wakeOp) start(b *batch, r *row, start *Start) {
	switch {
	case over(r.DeadlineAt, b.now), over(r.QueuedUntil, b.now):
		b.timeOutNow(r)
	case start == nil || start.Postpone > 0:
		op.postpone(b, r, start)
	case start.Failure != nil:
		b.end(r, state.Failed, b.now, start.Failure)
	default:
		if !b.move(r, b.next(r, r.in(state.Running))) {
			return
		}
		r.StartedAt = &b.now
		b.record(r, b.ownEvent(r, b.now, nil), nil)
		if start.Outputs {
			r.OutputURI = blobpath.AttemptDir(r.run.root.RunOutputBase, r.Name, uint32(r.Attempt)) //nolint:gosec // from 1
		}
		if start.Lasts <= 0 {
			b.end(r, state.Succeeded, b.now, nil)
			return
		}
		lasts, by := start.Lasts, schema.DueEnd
		if start.Limit > 0 && start.Limit < lasts {
			lasts, by = start.Limit, schema.DueRuntime
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

// timeOutNow times out an action that has reached any of its limits.
func (b *batch) timeOutNow(r *row) {
	switch {
	case r.ActionType == schema.ActionCondition:
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

// end ends an action by decision of the runs service.
func (b *batch) end(r *row, phase state.Phase, at time.Time, failure *core.ExecutionError) {
	if !b.move(r, b.next(r, r.in(phase))) {
		return
	}
	notBefore := r.CreatedAt
	if r.StartedAt != nil {
		notBefore = *r.StartedAt
	}
	ended := b.notAfterNow(&at, notBefore)
	r.EndedAt = &ended
	event := b.ownEvent(r, ended, failure)
	if failure != nil {
		r.Error = encode(failure)
	}
	b.record(r, event, r.Error)
}

// ownEvent is the event that an executor would have reported.
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
		event.Outputs = &task.OutputReferences{OutputUri: r.OutputURI + "/" + blobpath.OutputsFile}
	}
	return encode(event)
}

// encode cannot fail for messages built here: their strings are valid UTF-8.
func encode(message proto.Message) []byte {
	body, err := proto.Marshal(message)
	if err != nil {
		return nil
	}
	return body
}
