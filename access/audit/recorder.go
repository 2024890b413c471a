// Package audit keeps what was done: it is the auditor of the chain of internal/wire/rpc, and serves AuditService. Events are rows of
// access/store, in a chain of hashes that shows a row which was changed or removed.
package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/batch"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// maxBegun bounds the calls whose beginning one statement records.
	maxBegun = 500
	// maxWaiting bounds the events that wait to be written. More are counted, and the count is written.
	maxWaiting = 20_000
	// maxWritten bounds the events of one transaction.
	maxWritten = 1000
	// gather is for how long events gather before they are written.
	gather = 100 * time.Millisecond
	// gatherMade is how often, at most, events are written that were committed with their changes: nothing is lost meanwhile. Each
	// time is a transaction that the changes of others wait for, as they share its disk.
	gatherMade = time.Second
	// maxUnknown bounds the refusals of callers without a valid credential that are recorded a second. More are counted.
	maxUnknown = 20
)

// Store keeps events; store.Store is one.
type Store interface {
	// BeginAudit waits until the records are on disk.
	BeginAudit(ctx context.Context, begun []store.AuditEnd) error
	// QueueAudit adds the statement that stores records to the transaction of their changes.
	QueueAudit(statements *pgx.Batch, made []store.AuditEnd) error
	AppendAudit(ctx context.Context, ends []store.AuditEnd, seal store.Seal) error
}

// Recorder is the auditor of one process.
type Recorder struct {
	lifecycle.Background
	store Store
	clock clock.Clock
	log   zerolog.Logger
	open  bool
	begun *batch.Batcher[store.AuditEnd, struct{}]
	wake  chan struct{} // holds a token when something waits
	hurry chan struct{} // holds a token when something waits that is nowhere else

	mu      sync.Mutex
	waiting []store.AuditEnd // GUARDED_BY(mu): in the order of their ends
	lost    int              // GUARDED_BY(mu): events that were too many
	second  int64            // GUARDED_BY(mu): in which callers were unknown
	seen    int              // GUARDED_BY(mu): unknown callers in it
}

var (
	_ authz.Beginning = (*Recorder)(nil)
	_ lifecycle.Part  = (*Recorder)(nil)
)

// NewRecorder returns an auditor that writes to a store. Events wait until Start. Where access is open, the changes of anonymous callers
// are recorded too.
func NewRecorder(s Store, open bool, clk clock.Clock, log zerolog.Logger) *Recorder {
	r := &Recorder{store: s, open: open, clock: clk, log: log, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	r.begun = batch.New(batch.Config[store.AuditEnd, struct{}]{MaxWeight: maxBegun, Flush: r.begin, Clock: clk})
	return r
}

// Start begins to write.
func (r *Recorder) Start(ctx context.Context) error {
	if err := r.begun.Start(ctx); err != nil {
		return err
	}
	return r.Run(r.log.WithContext(ctx), r.write)
}

// Stop writes what waits.
func (r *Recorder) Stop(ctx context.Context) error {
	err := errors.Join(r.begun.Stop(ctx), r.Background.Stop(ctx))
	flushed := r.flush(ctx)
	if flushed != nil && r.open { // nothing that was acknowledged depends on it
		r.log.Warn().Err(flushed).Msg("the last audit events are lost: they cannot be written")
		flushed = nil
	}
	return errors.Join(err, flushed)
}

// Begin implements authz.Beginning.
func (r *Recorder) Begin(ctx context.Context, entry authz.Entry) (context.Context, func(authz.Outcome, error), error) {
	manner := r.mannerOf(authz.IdentityFrom(ctx).Kind, entry)
	if manner != around && manner != within {
		return ctx, nil, nil
	}
	event := eventOf(ctx, entry)
	event.At = r.clock.Now()
	id := store.NewAuditID(event.At)
	if manner == within {
		handled, end := r.carry(ctx, store.AuditEnd{ID: id, Event: event})
		return handled, end, nil
	}
	if _, err := r.begun.Submit(ctx, store.AuditEnd{ID: id, Begun: true, Event: event}); err != nil {
		return ctx, nil, rpc.Unavailable(err, "the call cannot be recorded, so it is not made; try again")
	}
	failpoint.Here("audit.after-begin")
	return ctx, func(outcome authz.Outcome, err error) {
		failpoint.Here("audit.before-end")
		event.Outcome, event.Error = outcome.String(), errorText(err)
		r.add(store.AuditEnd{ID: id, Begun: true, Event: event})
	}, nil
}

// begin records the beginning of a batch of calls.
func (r *Recorder) begin(ctx context.Context, items []*batch.Item[store.AuditEnd, struct{}]) {
	begun := make([]store.AuditEnd, len(items))
	for i, item := range items {
		begun[i] = item.Value
	}
	err := r.store.BeginAudit(ctx, begun)
	for _, item := range items {
		item.Answer(struct{}{}, err)
	}
}

// Record implements authz.Auditor.
func (r *Recorder) Record(ctx context.Context, entry authz.Entry) {
	identity := authz.IdentityFrom(ctx)
	refused := entry.Outcome == authz.Refused
	if !refused && r.mannerOf(identity.Kind, entry) == never {
		return
	}
	if refused && identity.Kind == authz.Anonymous && !r.admit(entry) {
		return
	}
	event := eventOf(ctx, entry)
	event.At = r.clock.Now()
	r.add(store.AuditEnd{Event: event})
}

// admit reports whether the refusal of a caller without a valid credential is recorded. One who sent none is asked for it by the
// answer, as every client is at its first call; that is not recorded.
func (r *Recorder) admit(entry authz.Entry) bool {
	if entry.Request.Header.Get("Authorization") == "" && entry.Request.Header.Get("Cookie") == "" {
		return false
	}
	second := r.clock.Now().Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.second != second {
		r.second, r.seen = second, 0
	}
	if r.seen++; r.seen > maxUnknown {
		r.lost++
		return false
	}
	return true
}

// add adds an event that is nowhere else.
func (r *Recorder) add(end store.AuditEnd) {
	r.addMade(end)
	signal(r.hurry)
}

// addMade adds an event that was committed with its change.
func (r *Recorder) addMade(end store.AuditEnd) {
	r.mu.Lock()
	if len(r.waiting) < maxWaiting {
		r.waiting = append(r.waiting, end)
	} else {
		r.lost++
	}
	many := len(r.waiting) >= maxWritten
	r.mu.Unlock()
	signal(r.wake)
	if many {
		signal(r.hurry)
	}
}

func signal(of chan struct{}) {
	select {
	case of <- struct{}{}:
	default:
	}
}

// write writes what waits until the context ends.
func (r *Recorder) write(ctx context.Context) {
	retries := backoff.New(gather, 10*time.Second)
	var written time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		if soon := written.Add(gatherMade - gather).Sub(r.clock.Now()); soon > 0 && clock.Await(ctx, r.clock, soon, r.hurry) != nil {
			return
		}
		pause := gather
		for {
			if clock.Sleep(ctx, r.clock, pause) != nil {
				return
			}
			err := r.flush(ctx)
			if err == nil {
				retries.Reset()
				written = r.clock.Now()
				break
			}
			pause = retries.Next()
			if ctx.Err() == nil {
				r.log.Warn().Err(err).Dur("pause", pause).Msg("cannot write audit events; retrying")
			}
		}
	}
}

// flush writes what waits. What could not be written waits again.
func (r *Recorder) flush(ctx context.Context) error {
	for {
		r.mu.Lock()
		some, lost := r.waiting[:min(len(r.waiting), maxWritten)], r.lost
		r.mu.Unlock()
		if len(some) == 0 && lost == 0 {
			return nil
		}
		ends := some
		if lost > 0 {
			ends = append(ends[:len(ends):len(ends)], store.AuditEnd{Event: store.AuditEvent{
				At: r.clock.Now(), Kind: authz.Service.String(), Subject: "audit", Outcome: "unknown", Resources: []string{},
				Error: fmt.Sprintf("%d more events were not recorded: there were too many at once", lost),
			}})
		}
		failpoint.Here("audit.before-chain")
		if err := r.store.AppendAudit(ctx, ends, Seal); err != nil {
			return err
		}
		failpoint.Here("audit.after-chain")
		r.mu.Lock()
		r.waiting = r.waiting[len(some):]
		if len(r.waiting) == 0 {
			r.waiting = nil // the array of a burst is not kept
		}
		r.lost -= lost
		r.mu.Unlock()
	}
}
