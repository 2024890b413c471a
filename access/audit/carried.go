package audit

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// carried is the record of a call that the transaction of its change writes.
type carried struct {
	end    store.AuditEnd // of the call, if the change is made
	queued atomic.Bool    // a transaction was given the record
	made   atomic.Bool    // the change and the record are committed
}

// carry returns the context in which a call is handled, and what is called at its end. Once the change is committed, the
// record says so, whatever answer the client gets: it may not have waited. A call that changed nothing is recorded at its
// end. One that changed something and failed then, has both records: what was done, and the answer that its client got.
func (r *Recorder) carry(ctx context.Context, call store.AuditEnd) (context.Context, func(authz.Outcome, error)) {
	c := &carried{end: call}
	c.end.Event.Outcome = authz.Succeeded.String()
	return authz.WithRecord(ctx, record{r, c}), func(outcome authz.Outcome, err error) {
		if outcome == authz.Succeeded && c.made.Load() {
			return
		}
		if outcome == authz.Succeeded && c.queued.Load() {
			// The connection was lost during the commit, and the repetition found the change made. The record is there.
			r.add(c.end)
			return
		}
		event := call.Event
		event.Outcome, event.Error = outcome.String(), errorText(err)
		r.add(store.AuditEnd{Event: event})
	}
}

// record is what the transaction of a change stores.
type record struct {
	recorder *Recorder
	*carried
}

var _ pgdb.Record = record{}

// Queue implements pgdb.Record.
func (r record) Queue(statements *pgx.Batch) error {
	if r.made.Load() {
		return nil
	}
	r.queued.Store(true)
	return r.recorder.store.QueueAudit(statements, []store.AuditEnd{r.end})
}

// Committed implements pgdb.Record.
func (r record) Committed() {
	if r.made.CompareAndSwap(false, true) {
		r.recorder.addMade(r.end)
	}
}

// Queue adds the statement that stores the records of calls, which their contexts carry, to the transaction of their changes. Calls
// without such a record are left out.
func (r *Recorder) Queue(statements *pgx.Batch, calls []context.Context) error {
	var made []store.AuditEnd
	for _, call := range calls {
		if c, ok := authz.RecordIn(call).(record); ok && !c.made.Load() {
			c.queued.Store(true)
			made = append(made, c.end)
		}
	}
	if len(made) == 0 {
		return nil
	}
	return r.store.QueueAudit(statements, made)
}

// Committed has the records of calls added to the chain. Should the process die first, the keeper does it.
func (r *Recorder) Committed(calls []context.Context) {
	for _, call := range calls {
		if c, ok := authz.RecordIn(call).(record); ok && c.made.CompareAndSwap(false, true) {
			r.addMade(c.end)
		}
	}
}
