package pgdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Leases lets one of several processes run a loop: the one that holds the unexpired row of a name in the table leases. Holders
// compare times of their own clocks, so a lease must be much longer than these may differ. A clock that is set back by
// more does not stop the loop: a lease that ends later than any of its length can is free.
type Leases struct {
	pool   *pgxpool.Pool
	clock  clock.Clock
	holder string
	table  string
}

// NewLeases creates the leases of one holder; its name must be unique among all processes.
func NewLeases(pool *pgxpool.Pool, clk clock.Clock, holder string) *Leases {
	return &Leases{pool: pool, clock: clk, holder: holder, table: "leases"}
}

// In returns the leases of the same holder in another table, for services that may have a database of their own. The name is
// the caller's constant; it is part of statements.
func (l *Leases) In(table string) *Leases {
	other := *l
	other.table = table
	return &other
}

// Acquire takes or renews the lease for d and reports whether this holder has it.
func (l *Leases) Acquire(ctx context.Context, name string, d time.Duration) (bool, error) {
	now := l.clock.Now()
	tag, err := l.pool.Exec(ctx, `
		INSERT INTO `+l.table+` AS held (name, holder, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
		WHERE held.holder = excluded.holder OR held.expires_at <= $4 OR held.expires_at > $5`,
		name, l.holder, now.Add(d), now, now.Add(2*d))
	if err != nil {
		return false, fmt.Errorf("acquire lease %s: %w", name, err)
	}
	return tag.RowsAffected() == 1, nil
}

// Renew extends a lease of this holder, and reports whether it still held it.
func (l *Leases) Renew(ctx context.Context, name string, d time.Duration) (bool, error) {
	now := l.clock.Now()
	tag, err := l.pool.Exec(ctx, `UPDATE `+l.table+` SET expires_at = $3 WHERE name = $1 AND holder = $2 AND expires_at > $4`,
		name, l.holder, now.Add(d), now)
	if err != nil {
		return false, fmt.Errorf("renew lease %s: %w", name, err)
	}
	return tag.RowsAffected() == 1, nil
}

// Release drops the lease, so that other holders do not wait until it expires. It is not an error if it was not held.
func (l *Leases) Release(ctx context.Context, name string) error {
	if _, err := l.pool.Exec(ctx, `DELETE FROM `+l.table+` WHERE name = $1 AND holder = $2`, name, l.holder); err != nil {
		return fmt.Errorf("release lease %s: %w", name, err)
	}
	return nil
}

// ErrLeaseLost is the cause with which Hold ends the context of its work.
var ErrLeaseLost = errors.New("lease lost")

// Hold runs work while it has the lease, until the context ends; it then returns nil. The context of the work
// ends when the lease could not be renewed in time, and Hold waits for the work to return. Work that returns by
// itself, for instance with an error, is started again after a pause. d is the length of the lease; it is renewed
// three times as often.
func (l *Leases) Hold(ctx context.Context, name string, d time.Duration, work func(context.Context) error) error {
	for {
		expires := l.clock.Now().Add(d)
		ours, err := l.Acquire(ctx, name, d)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // told to end
		case err != nil:
			zerolog.Ctx(ctx).Warn().Err(err).Msg("cannot acquire the lease")
		case ours:
			if err := l.run(ctx, name, d, expires, work); err != nil {
				zerolog.Ctx(ctx).Warn().Err(err).Str("lease", name).Msg("work under lease ended")
			}
		}
		if clock.Sleep(ctx, l.clock, d/3) != nil {
			return nil //nolint:nilerr // the context has ended, as it was asked to
		}
	}
}

// run does the work and renews the lease beside it.
func (l *Leases) run(
	ctx context.Context, name string, d time.Duration, expires time.Time, work func(context.Context) error,
) error {
	working, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		l.keep(working, name, d, expires, cancel)
	}()
	err := work(working)
	lost := errors.Is(context.Cause(working), ErrLeaseLost)
	cancel(nil)
	<-renewed
	if lost {
		return errors.Join(ErrLeaseLost, err)
	}
	releasing, done := context.WithTimeout(context.WithoutCancel(ctx), d/3)
	defer done()
	if releaseErr := l.Release(releasing, name); releaseErr != nil && ctx.Err() == nil {
		err = errors.Join(err, releaseErr)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// keep renews the lease until the context ends. It cancels the context when the lease is lost, or when renewing failed
// until the lease expired.
func (l *Leases) keep(
	ctx context.Context, name string, d time.Duration, expires time.Time, cancel context.CancelCauseFunc,
) {
	for clock.Sleep(ctx, l.clock, d/3) == nil {
		now := l.clock.Now()
		ours, err := l.Renew(ctx, name, d)
		left := expires.Sub(l.clock.Now())
		switch {
		case err == nil && ours:
			expires = now.Add(d)
		case err == nil, left <= d/3, left > d: // more than a whole lease is left when the clock was set back
			cancel(ErrLeaseLost)
			return
		}
	}
}
