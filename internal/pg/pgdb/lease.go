package pgdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Leases lets one of several processes run a loop: the one that holds the unexpired row of a name in the table leases.
// Only the database's clock decides when a lease ends, so the clocks of processes may differ. A process measures how long
// ago it renewed with timers, which do not follow the time of day.
type Leases struct {
	pool   *pgxpool.Pool
	clock  clock.Clock
	holder string
	table  string
	held   *heldLeases
}

// heldLeases are those that Hold renews. They share statements: one that is due takes along those that will be due soon.
type heldLeases struct {
	mu     sync.Mutex
	leases map[string]*heldLease // GUARDED_BY(mu): by name
}

// heldLease is a lease that is renewed.
type heldLease struct {
	length time.Duration
	asked  time.Time          // GUARDED_BY(heldLeases.mu): when the statement began that renewed it last
	along  chan time.Duration // of capacity one: it was renewed along with another, and is due after this time
}

// NewLeases creates the leases of one holder; its name must be unique among all processes.
func NewLeases(pool *pgxpool.Pool, clk clock.Clock, holder string) *Leases {
	return &Leases{pool: pool, clock: clk, holder: holder, table: "leases", held: newHeldLeases()}
}

// In returns the leases of the same holder in another table, for services that may have a database of their own. The name is
// the caller's constant; it is part of statements.
func (l *Leases) In(table string) *Leases {
	other := *l
	other.table, other.held = table, newHeldLeases()
	return &other
}

// Acquire takes or renews the lease for d and reports whether this holder has it. A lease that ends later than any of its
// length can is free: the database's clock was set back, or another server with another clock took its place.
func (l *Leases) Acquire(ctx context.Context, name string, d time.Duration) (bool, error) {
	tag, err := l.pool.Exec(ctx, `
		INSERT INTO `+l.table+` AS held (name, holder, expires_at) VALUES ($1, $2, clock_timestamp() + $3::interval)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
		WHERE held.holder = excluded.holder OR held.expires_at <= clock_timestamp()
			OR held.expires_at > clock_timestamp() + 2 * $3::interval`,
		name, l.holder, d)
	if err != nil {
		return false, fmt.Errorf("acquire lease %s: %w", name, err)
	}
	return tag.RowsAffected() == 1, nil
}

// Renew extends a lease of this holder, and reports whether it still held it.
func (l *Leases) Renew(ctx context.Context, name string, d time.Duration) (bool, error) {
	renewed, err := l.renew(ctx, []string{name}, []time.Duration{d})
	return len(renewed) == 1, err
}

// renew extends leases of this holder, and returns the names of those that it still held.
func (l *Leases) renew(ctx context.Context, names []string, lengths []time.Duration) ([]string, error) {
	rows, err := l.pool.Query(ctx, `
		UPDATE `+l.table+` held SET expires_at = clock_timestamp() + u.length
		FROM unnest($1::text[], $2::interval[]) AS u (name, length)
		WHERE held.name = u.name AND held.holder = $3 AND held.expires_at > clock_timestamp()
		RETURNING held.name`,
		names, lengths, l.holder)
	if err != nil {
		return nil, fmt.Errorf("renew leases %q: %w", names, err)
	}
	renewed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("renew leases %q: %w", names, err)
	}
	return renewed, nil
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
		pause := l.clock.NewTimer(d / 3)
		ours, err := within(ctx, name, d, l.Acquire)
		switch {
		case ctx.Err() != nil:
			pause.Stop()
			return nil //nolint:nilerr // told to end
		case err != nil:
			zerolog.Ctx(ctx).Warn().Err(err).Msg("cannot acquire the lease")
		case ours:
			if err := l.run(ctx, name, d, pause, work); err != nil {
				zerolog.Ctx(ctx).Warn().Err(err).Str("lease", name).Msg("work under lease ended")
			}
			pause = l.clock.NewTimer(d / 3)
		}
		if !fired(ctx, pause) {
			return nil
		}
	}
}

// within bounds one statement about a lease of length d. A database that accepts connections and does not answer must
// not keep a holder waiting beyond the end of its lease: two statements that are begun in time end in time.
func within(
	ctx context.Context, name string, d time.Duration, statement func(context.Context, string, time.Duration) (bool, error),
) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, d/4)
	defer cancel()
	return statement(ctx, name, d)
}

// fired waits for a timer, and reports whether it fired before the context ended.
func fired(ctx context.Context, timer clock.Timer) bool {
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// run does the work and renews the lease alongside it. renewal fires when that is due first.
func (l *Leases) run(ctx context.Context, name string, d time.Duration, renewal clock.Timer, work func(context.Context) error) error {
	working, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		l.keep(working, name, d, renewal, cancel)
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

// keep renews the lease each third of its length until the context ends. It cancels the context when the lease is lost, or
// when two renewals in a row failed: the third would come after the lease has ended.
func (l *Leases) keep(ctx context.Context, name string, d time.Duration, renewal clock.Timer, cancel context.CancelCauseFunc) {
	defer func() { renewal.Stop() }()
	along := l.held.add(name, d, l.clock.Now())
	defer l.held.remove(name)
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case left := <-along:
			failures = 0
			renewal.Stop()
			renewal = l.clock.NewTimer(left)
			continue
		case <-renewal.C():
		}
		renewal = l.clock.NewTimer(d / 3) // from the beginning of the statement: the lease may end that early
		ours, err := within(ctx, name, d, l.renewDue)
		select {
		case <-along: // it counts from a moment that has passed
		default:
		}
		switch {
		case err == nil && ours:
			failures = 0
			continue
		case err != nil && failures == 0 && ctx.Err() == nil:
			failures++
			continue
		}
		cancel(ErrLeaseLost)
		return
	}
}

// renewDue renews a lease that is due, and with it those that are due soon.
func (l *Leases) renewDue(ctx context.Context, name string, d time.Duration) (bool, error) {
	began := l.clock.Now()
	names, lengths := l.held.due(name, began)
	renewed, err := l.renew(ctx, names, lengths)
	if err != nil {
		return false, err
	}
	took := l.clock.Now().Sub(began)
	if took < 0 { // the clock was set back
		took = d / 4
	}
	for _, other := range renewed {
		l.held.renewed(other, began, took, other != name)
	}
	return slices.Contains(renewed, name), nil
}

func newHeldLeases() *heldLeases { return &heldLeases{leases: map[string]*heldLease{}} }

func (h *heldLeases) add(name string, length time.Duration, now time.Time) <-chan time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := &heldLease{length: length, asked: now, along: make(chan time.Duration, 1)}
	h.leases[name] = one
	return one.along
}

func (h *heldLeases) remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.leases, name)
}

// due lists a lease, and those of which half of the time to their renewal has passed.
func (h *heldLeases) due(name string, now time.Time) (names []string, lengths []time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other, one := range h.leases {
		if other == name || now.Sub(one.asked) >= one.length/6 {
			names, lengths = append(names, other), append(lengths, one.length)
		}
	}
	return names, lengths
}

// renewed notes that a lease was renewed by a statement. Its keeper is notified if it was renewed along with another.
func (h *heldLeases) renewed(name string, began time.Time, took time.Duration, along bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.leases[name]
	if one == nil {
		return // released meanwhile
	}
	one.asked = began
	if !along {
		return
	}
	select {
	case one.along <- one.length/3 + one.length/60 - took: // a little later than the other, which then takes it along again
	default: // it has not yet read the one before, which is earlier
	}
}
