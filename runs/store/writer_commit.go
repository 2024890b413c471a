package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// errSlow means that a transaction took longer than the commit timeout. Whether it committed is unknown.
var errSlow = errors.New("the transaction took too long")

// commit commits a batch and answers its requests. It retries during an outage as long as a caller waits. A batch
// that Postgres rejects, or that takes too long, is committed in halves, so that one bad operation does not fail the
// others.
func (w *Writer) commit(ctx context.Context, requests []*request) {
	retries := backoff.New(w.config.RetryMin, w.config.RetryMax)
	conflicts := 0
	for len(requests) > 0 {
		b, err := w.try(ctx, requests)
		if err == nil {
			w.committed(b)
			for i, r := range requests {
				r.Answer(struct{}{}, b.errs[i])
			}
			return
		}
		switch {
		case ctx.Err() != nil:
			answer(requests, errStopping())
			return
		case raced(err) && conflicts < 5:
			conflicts++ // another replica created the same row or lock; the next read sees it
			continue
		case errors.Is(err, errSlow):
			w.deps.Logger.Error().Err(err).Int("operations", len(requests)).Dur("limit", w.config.CommitTimeout).
				Msg("a transaction took too long")
			w.split(ctx, requests, rpc.Unavailable(err, "storing the change timed out after %s", w.config.CommitTimeout))
			return
		case transient(err):
			pause := retries.Next()
			w.deps.Logger.Warn().Err(err).Int("operations", len(requests)).Dur("retry_in", pause).
				Msg("commit failed; retrying")
			if clock.Sleep(ctx, w.deps.Clock, pause) == nil {
				requests = waiting(requests, err)
			}
		default:
			w.deps.Logger.Error().Err(err).Int("operations", len(requests)).Msg("postgres rejected a transaction")
			w.split(ctx, requests, refused(err))
			return
		}
	}
}

// split commits a batch that failed in halves, and answers an operation that fails alone with the error.
func (w *Writer) split(ctx context.Context, requests []*request, err error) {
	if len(requests) == 1 {
		answer(requests, err)
		return
	}
	half := len(requests) / 2
	for _, part := range [][]*request{requests[:half], requests[half:]} {
		w.commit(ctx, waiting(part, err))
	}
}

// try runs one transaction, within the commit timeout.
func (w *Writer) try(ctx context.Context, requests []*request) (*batch, error) {
	ctx, cancel := context.WithTimeout(ctx, w.config.CommitTimeout)
	defer cancel()
	conn, err := w.deps.Pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer release(ctx, conn)
	b, err := w.transact(ctx, conn, requests)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
		return nil, fmt.Errorf("%w: %w", errSlow, err)
	}
	return b, err
}

// transact runs one transaction in three round trips: the first takes the locks, the last writes and commits. A run that a version
// without counts has written takes one more.
func (w *Writer) transact(ctx context.Context, conn *pgxpool.Conn, requests []*request) (*batch, error) {
	b, err := w.load(ctx, conn, requests)
	if err != nil {
		return nil, err
	}
	b.decide(requests)
	if !b.dirty() {
		return b, nil
	}
	if err := b.count(ctx, conn); err != nil {
		return nil, err
	}
	failpoint.Here("writer.before-commit")
	if err := w.save(ctx, conn, b); err != nil {
		return nil, err
	}
	failpoint.Here("writer.after-commit")
	return b, nil
}

// The statements around a transaction, in its first and its last round trip. When a statement fails, Postgres skips
// those after it, so nothing commits.
const (
	begin  = "BEGIN"
	commit = "COMMIT"
)

// sender is the part of a connection that a transaction needs.
type sender interface {
	SendBatch(ctx context.Context, statements *pgx.Batch) pgx.BatchResults
}

// release returns a connection to the pool and rolls back an uncommitted transaction. It does not use the caller's
// context, which may have ended. The pool closes a connection that cannot roll back.
func release(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release()
	if status := conn.Conn().PgConn().TxStatus(); status == 'I' || conn.Conn().IsClosed() {
		return
	}
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	_, _ = conn.Exec(ending, "ROLLBACK")
}

// committed notifies the rest of the process of a commit.
func (w *Writer) committed(b *batch) {
	for _, digest := range b.newSpecs {
		w.specs.add(digest.digest)
	}
	if w.deps.Records != nil {
		w.deps.Records.Committed(b.changing)
	}
	if w.deps.Conditions != nil {
		if ended := b.conditionsEnded(); len(ended) > 0 {
			w.deps.Conditions.ConditionsEnded(ended)
		}
	}
	change := b.liveChange()
	b.settlePlaces(w.deps.Places, change)
	w.gate.add(b.placesFreed())
	if ids := b.changedRuns(); len(ids) > 0 && w.deps.Waker != nil {
		w.deps.Waker.Wake(ids...)
	}
	if w.deps.Live != nil && (len(change.Admitted)+len(change.Ended)+len(change.Queued)+len(change.Held) > 0 || !change.Due.IsZero()) {
		w.deps.Live.LiveChanged(change)
	}
}

// waiting keeps the requests whose callers still wait, and answers the others.
func waiting(requests []*request, cause error) []*request {
	var kept []*request
	for _, r := range requests {
		if r.Ctx.Err() == nil {
			kept = append(kept, r)
		} else {
			r.Answer(struct{}{}, rpc.Unavailable(cause, "timed out while storing the change"))
		}
	}
	return kept
}

// raced reports whether a concurrent transaction caused the error, by a name or a lock.
func raced(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.Code == "23505" || pg.Code == "40001" || pg.Code == "40P01"
}

// transient reports whether a retry of the same batch may succeed.
func transient(err error) bool {
	return pgdb.IsTransient(err) || errors.Is(err, context.DeadlineExceeded)
}

// refused returns the error for an operation that Postgres rejected. Data exceptions are the client's fault.
func refused(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && len(pg.Code) == 5 && pg.Code[:2] == "22" {
		return rpc.InvalidArgument("", "the request contains text or numbers that the database cannot store")
	}
	return rpc.Internal(err, "the change could not be stored")
}
