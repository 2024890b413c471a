package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// commit brings a batch to its answers. Outages are waited out, as long as anybody waits for an answer; a batch that
// Postgres refuses is taken apart, so that one bad operation does not spoil the others.
func (w *Writer) commit(ctx context.Context, requests []*request) {
	pause := w.config.RetryMin
	conflicts := 0
	for len(requests) > 0 {
		b, err := w.try(ctx, requests)
		if err == nil {
			w.committed(b)
			for i, r := range requests {
				r.done <- b.errs[i]
			}
			return
		}
		switch {
		case ctx.Err() != nil:
			answer(requests, rpc.Unavailable(rpc.ErrShuttingDown, "the server is shutting down"))
			return
		case raced(err) && conflicts < 5:
			conflicts++ // another replica made the same row or lock; seen on the next read
			continue
		case transient(err):
			w.deps.Logger.Warn().Err(err).Int("operations", len(requests)).Dur("retry_in", pause).
				Msg("storing changes failed, trying again")
			w.sleep(ctx, pause+rand.N(pause)) //nolint:gosec // only spreads tries
			pause = min(2*pause, w.config.RetryMax)
			requests = waiting(requests, err)
		case len(requests) > 1:
			w.deps.Logger.Error().Err(err).Int("operations", len(requests)).
				Msg("postgres refuses a batch, storing its changes one by one")
			for _, r := range requests {
				w.commit(ctx, []*request{r})
			}
			return
		default:
			w.deps.Logger.Error().Err(err).Msg("postgres refuses a change")
			answer(requests, refused(err))
			return
		}
	}
}

// try is one transaction, in three round trips: it begins with the locks and is committed with the writes.
func (w *Writer) try(ctx context.Context, requests []*request) (*batch, error) {
	ctx, cancel := context.WithTimeout(ctx, w.config.CommitTimeout)
	defer cancel()
	conn, err := w.deps.Pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer release(ctx, conn)
	b, err := w.load(ctx, conn, requests)
	if err != nil {
		return nil, err
	}
	b.decide(requests)
	if !b.dirty() {
		return b, nil
	}
	failpoint.Here("writer.before-commit")
	if err := w.save(ctx, conn, b); err != nil {
		return nil, err
	}
	failpoint.Here("writer.after-commit")
	return b, nil
}

// What surrounds a transaction, as statements of its first and its last round trip. When a statement fails Postgres
// leaves out those after it, so that nothing is committed then.
const (
	begin  = "BEGIN"
	commit = "COMMIT"
)

// sender is the part of a connection that a transaction needs.
type sender interface {
	SendBatch(ctx context.Context, statements *pgx.Batch) pgx.BatchResults
}

// release gives a connection back to the pool, without a transaction that was not committed. The context may have
// ended, which is why the rollback has none of it. A connection that cannot roll back is closed by the pool.
func release(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release()
	if status := conn.Conn().PgConn().TxStatus(); status == 'I' || conn.Conn().IsClosed() {
		return
	}
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	_, _ = conn.Exec(ending, "ROLLBACK")
}

// committed tells the process what a commit did.
func (w *Writer) committed(b *batch) {
	for _, digest := range b.newSpecs {
		w.specs.add(digest.digest)
	}
	change := b.liveChange()
	w.gate.add(b.placesFreed())
	if ids := b.changedRuns(); len(ids) > 0 && w.deps.Waker != nil {
		w.deps.Waker.Wake(ids...)
	}
	if w.deps.Live != nil && (len(change.Admitted)+len(change.Ended)+len(change.Queued)+len(change.Held) > 0 || !change.Due.IsZero()) {
		w.deps.Live.LiveChanged(change)
	}
}

// waiting keeps the requests that somebody still waits for, and answers the others.
func waiting(requests []*request, cause error) []*request {
	var kept []*request
	for _, r := range requests {
		if r.ctx.Err() == nil {
			kept = append(kept, r)
		} else {
			r.done <- rpc.Unavailable(cause, "the database does not answer")
		}
	}
	return kept
}

func (w *Writer) sleep(ctx context.Context, d time.Duration) {
	timer := w.deps.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// raced tells whether another transaction got in between: a name or a lock.
func raced(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.Code == "23505" || pg.Code == "40001" || pg.Code == "40P01"
}

// transient tells whether the same batch may pass later.
func transient(err error) bool {
	return pgdb.IsTransient(err) || errors.Is(err, context.DeadlineExceeded)
}

// refused is the answer to an operation that Postgres does not take. Data exceptions are the client's.
func refused(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && len(pg.Code) == 5 && pg.Code[:2] == "22" {
		return rpc.InvalidArgument("", "the request has text or numbers that cannot be stored")
	}
	return rpc.Internal(err, "the change could not be stored")
}
