// Package retention deletes old runs: their blobs, their rows, and specs without other references. A deletion has
// three steps, each of which is idempotent: it hides the run, empties its directory in the object store, and deletes
// its rows. It works alongside runs/store.Writer, which never sees a hidden run.
package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store/deletions"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// LeaseName is the lease of the replica that deletes.
const LeaseName = "retention"

const (
	// nameFree is how long the name of a deleted run stays reserved: longer than any request that might still write
	// under it.
	nameFree = 10 * time.Minute
	// page is how many runs one statement reads.
	page = 100
)

// Store is what the keeper needs of the database; deletions.Store is one.
type Store interface {
	Scopes(ctx context.Context) ([]schema.Scope, error)
	Cut(ctx context.Context, scope schema.Scope, keep int) (deletions.Cut, error)
	Expired(ctx context.Context, scope schema.Scope, e deletions.Expiry, cut, after deletions.Cut, limit int) ([]deletions.ExpiredRun, error)
	CountExpired(ctx context.Context, scope schema.Scope, e deletions.Expiry, cut deletions.Cut) (runs, actions int64, err error)
	Mark(ctx context.Context, runID int64, now time.Time) (bool, error)
	Unfinished(ctx context.Context, after int64, limit int) ([]deletions.Deletion, error)
	BlobsGone(ctx context.Context, runID int64, now time.Time) error
	DeleteRows(ctx context.Context, runID int64, limit int) (int, error)
	RowsGone(ctx context.Context, runID int64, now time.Time) error
	FreeNames(ctx context.Context, before time.Time) error
	SweepSpecs(ctx context.Context, limit int) (int, error)
}

// Blobs deletes everything below a directory of the object store, with the errors of blobstore.
type Blobs interface {
	// Root is the URI prefix of the layout, without a trailing slash.
	Root() string
	DeletePrefix(ctx context.Context, uri string) error
}

// Leases runs work while a lease is held; pgdb.Leases is one.
type Leases interface {
	Hold(ctx context.Context, name string, d time.Duration, work func(context.Context) error) error
}

// Deps are the dependencies of the keeper.
type Deps struct {
	Store Store
	// Tracked has the tracked runs; nil means that there are none.
	Tracked Store
	Blobs   Blobs
	Leases  Leases
	// Forget, if set, is called for each run of the installation whose blobs are deleted, to clean up elsewhere. It may
	// be called twice for a run; after an error it is called again.
	Forget func(ctx context.Context, run ident.Run) error
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter creates the metrics; nil means none.
	Meter metric.MeterProvider
}

// Keeper deletes expired runs.
type Keeper struct {
	lifecycle.Background
	config  Config
	deps    Deps
	kinds   []kind
	deleted metric.Int64Counter
	failed  metric.Int64Counter
}

// New returns a keeper; it runs no loop before Start.
func New(config Config, deps Deps) (*Keeper, error) {
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	k := &Keeper{config: config, deps: deps, kinds: kindsOf(deps)}
	meter := deps.Meter.Meter("github.com/flyte-binary/flyte-binary/runs/retention")
	var err error
	if k.deleted, err = meter.Int64Counter("flyte.retention.deleted", metric.WithDescription("deleted runs")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if k.failed, err = meter.Int64Counter("flyte.retention.failures", metric.WithDescription("deletion steps that failed and will be retried")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return k, nil
}

func (k *Keeper) expiry() deletions.Expiry {
	now := k.deps.Clock.Now()
	e := deletions.Expiry{Keep: k.config.MaxRuns, Settled: now.Add(-k.config.Grace)}
	if k.config.MaxAge > 0 {
		e.EndedBefore = now.Add(-k.config.MaxAge)
	}
	return e
}

// Sweep finishes interrupted deletions, then deletes every run that the limits do not keep, and returns how many. A
// run that cannot be deleted now does not block others; the next sweep retries it.
func (k *Keeper) Sweep(ctx context.Context) (deleted int, err error) {
	var failures []error
	for _, of := range k.kinds {
		n, err := k.sweep(ctx, of, &failures)
		deleted += n
		if err != nil {
			failures = append(failures, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return deleted, errors.Join(failures...)
}

// sweep is Sweep for one kind of runs. Runs that could not be deleted are added to failures.
func (k *Keeper) sweep(ctx context.Context, of kind, failures *[]error) (deleted int, err error) {
	if err := of.store.FreeNames(ctx, k.deps.Clock.Now().Add(-nameFree)); err != nil {
		return 0, err
	}
	if err := k.resume(ctx, of, failures); err != nil {
		return 0, err
	}
	if k.config.limited() {
		// A run becomes free when the runs that use it are deleted, so a chain of runs takes as many walks as it is
		// long.
		for more := true; more; {
			n, err := k.walk(ctx, of, failures)
			deleted += n
			if err != nil {
				return deleted, err
			}
			more = n > 0
		}
	}
	for {
		looked, err := of.store.SweepSpecs(ctx, page)
		if err != nil || looked == 0 || clock.Sleep(ctx, k.deps.Clock, k.config.Pause) != nil {
			return deleted, errors.Join(err, ctx.Err())
		}
	}
}

// resume finishes interrupted deletions.
func (k *Keeper) resume(ctx context.Context, of kind, failures *[]error) error {
	for after := int64(0); ; {
		begun, err := of.store.Unfinished(ctx, after, page)
		if err != nil || len(begun) == 0 {
			return err
		}
		for _, d := range begun {
			after = d.RunID
			k.finish(ctx, of, d, failures)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
}

// walk deletes the runs that are expired now, scope by scope, oldest first.
func (k *Keeper) walk(ctx context.Context, of kind, failures *[]error) (deleted int, err error) {
	err = k.each(ctx, of, func(run deletions.ExpiredRun) error {
		marked, err := of.store.Mark(ctx, run.ID, k.deps.Clock.Now())
		if err != nil || !marked {
			return err
		}
		k.finish(ctx, of, deletions.Deletion{RunID: run.ID, Run: run.Run, OutputBase: run.OutputBase}, failures)
		deleted++
		return ctx.Err()
	})
	return deleted, err
}

// each calls do for every expired run that is not in use.
func (k *Keeper) each(ctx context.Context, of kind, do func(deletions.ExpiredRun) error) error {
	expiry := k.expiry()
	return of.eachScope(ctx, expiry, func(scope schema.Scope, cut deletions.Cut) error {
		for after := (deletions.Cut{}); ; {
			runs, err := of.store.Expired(ctx, scope, expiry, cut, after, page)
			if err != nil {
				return err
			}
			for _, run := range runs {
				after = deletions.Cut{CreatedAt: run.CreatedAt, ID: run.ID}
				if err := do(run); err != nil {
					return err
				}
			}
			if len(runs) < page {
				return nil
			}
		}
	})
}

// eachScope calls do for every place, with its newest surplus run; the zero Cut if it has none.
func (of kind) eachScope(ctx context.Context, expiry deletions.Expiry, do func(schema.Scope, deletions.Cut) error) error {
	scopes, err := of.store.Scopes(ctx)
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		cut, err := of.store.Cut(ctx, scope, expiry.Keep)
		if err != nil {
			return err
		}
		if err := do(scope, cut); err != nil {
			return err
		}
	}
	return nil
}

// finish deletes the rest of a hidden run. The rows stay until the blobs are deleted, since only the rows say where
// the blobs are.
func (k *Keeper) finish(ctx context.Context, of kind, d deletions.Deletion, failures *[]error) {
	if err := k.tryFinish(ctx, of, d); err != nil {
		k.failed.Add(ctx, 1)
		*failures = append(*failures, fmt.Errorf("delete run %s: %w", d.Run, err))
		return
	}
	k.deleted.Add(ctx, 1)
	k.deps.Logger.Info().Stringer("run", d.Run).Int64("uid", d.RunID).Bool("tracked", of.tracked).Msg("deleted a run")
}

func (k *Keeper) tryFinish(ctx context.Context, of kind, d deletions.Deletion) error {
	if !d.BlobsGone {
		if err := k.deleteBlobs(ctx, of, d); err != nil {
			return err
		}
		if of.forget != nil {
			if err := of.forget(ctx, d.Run); err != nil {
				return fmt.Errorf("clean up: %w", err)
			}
		}
		if err := of.store.BlobsGone(ctx, d.RunID, k.deps.Clock.Now()); err != nil {
			return err
		}
	}
	for {
		deleted, err := of.store.DeleteRows(ctx, d.RunID, k.config.Batch)
		if err != nil {
			return err
		}
		if deleted == 0 {
			break
		}
		if clock.Sleep(ctx, k.deps.Clock, k.config.Pause) != nil {
			return ctx.Err()
		}
	}
	return of.store.RowsGone(ctx, d.RunID, k.deps.Clock.Now())
}

// deleteBlobs empties the run's own directory and no other: it leaves a place that is not the run's, and one outside of
// the storage.
func (k *Keeper) deleteBlobs(ctx context.Context, of kind, d deletions.Deletion) error {
	if d.OutputBase == "" {
		return nil
	}
	if !of.owns(k.deps.Blobs.Root(), d) {
		k.deps.Logger.Warn().Stringer("run", d.Run).Str("place", d.OutputBase).Msg("keeping the blobs of a deleted run: they are not in the run's own directory")
		return nil
	}
	err := k.deps.Blobs.DeletePrefix(ctx, d.OutputBase)
	if errors.Is(err, blobstore.ErrForbiddenPath) {
		k.deps.Logger.Warn().Err(err).Stringer("run", d.Run).Msg("keeping the blobs of a deleted run: they are outside the storage")
		return nil
	}
	return err
}
