package pgdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// askReplicaEvery is how often each replica is asked whether it follows the primary.
	askReplicaEvery = time.Second
	// askReplicaLimit is how long it may take to answer.
	askReplicaLimit = 2 * time.Second
	// closeLimit is how long standbys may take to close their connections.
	closeLimit = time.Second
	// catchUpPause is between two questions whether a replica has caught up.
	catchUpPause = 2 * time.Millisecond
)

// Replicas reads from standbys what was committed before the read began: a reader asks the primary for the end of its log,
// which costs it next to nothing, and uses a standby that has replayed the log that far. So no one misses what they, or
// anybody else, wrote before. A standby that is down, that lags by more than MaxWait or follows another server than the
// primary is not used; the primary is.
type Replicas struct {
	lifecycle.Background
	primary *pgxpool.Pool
	maxWait time.Duration
	clock   clock.Clock
	logger  zerolog.Logger
	reads   metric.Int64Counter
	list    []*replica
	next    atomic.Uint32
}

// replica is one standby.
type replica struct {
	pool *pgxpool.Pool
	host string

	mu sync.Mutex
	up context.Context //nolint:containedctx // GUARDED_BY(mu): of the reads; ended while the standby does not answer
	// down ends it.
	down context.CancelFunc // GUARDED_BY(mu)
}

var _ lifecycle.Part = (*Replicas)(nil)

// ReplicaDeps are what Replicas need.
type ReplicaDeps struct {
	// Primary is asked for the end of its log, and serves what no standby can. Required.
	Primary *pgxpool.Pool
	Clock   clock.Clock
	Logger  zerolog.Logger
	Meter   metric.MeterProvider // nil means no metrics
}

// OpenReplicas opens a pool for each of config.ReadReplicas, with the other options of config. It does not wait for them;
// they may be down. Close must be called.
func OpenReplicas(ctx context.Context, config Config, deps ReplicaDeps, options ...Option) (*Replicas, error) {
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	r := &Replicas{primary: deps.Primary, maxWait: config.ReplicaMaxWait, clock: deps.Clock, logger: deps.Logger}
	var err error
	r.reads, err = deps.Meter.Meter("github.com/flyte-binary/flyte-binary/internal/pg/pgdb").Int64Counter("flyte.database.replica.reads",
		metric.WithDescription("reads that a standby could serve, by who served them: replica, or primary because each standby was down, lagged or failed"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	for i, url := range config.ReadReplicas {
		one := config
		one.URL, one.MinIdleConns = url, 0
		parsed, err := poolConfig(one, options...)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("readReplicas[%d]: %w", i, err)
		}
		pool, err := pgxpool.NewWithConfig(ctx, parsed)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("readReplicas[%d]: %w", i, err)
		}
		standby := &replica{pool: pool, host: parsed.ConnConfig.Host}
		standby.up, standby.down = context.WithCancel(context.Background())
		standby.down()
		r.list = append(r.list, standby)
	}
	return r, nil
}

// Close closes the pools, after Stop. It does not wait for a standby that does not answer.
func (r *Replicas) Close() {
	var closing sync.WaitGroup
	for _, one := range r.list {
		one.down()
		closing.Go(one.pool.Close)
	}
	// A pool waits 15 seconds for the answer to each request to cancel a read, and a frozen standby sends none.
	waiting, cancel := context.WithTimeout(context.Background(), closeLimit)
	go func() { closing.Wait(); cancel() }()
	<-waiting.Done()
}

// Start implements lifecycle.Part.
func (r *Replicas) Start(ctx context.Context) error {
	var loops []func(context.Context)
	for _, one := range r.list {
		loops = append(loops, func(ctx context.Context) { r.attend(ctx, one) })
	}
	return r.Run(ctx, loops...)
}

// attend asks a standby again and again whether it answers, and ends its reads when it does not.
func (r *Replicas) attend(ctx context.Context, one *replica) {
	for {
		asking, cancel := context.WithTimeout(ctx, askReplicaLimit)
		err := one.pool.Ping(asking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if changed := one.set(err == nil); changed && err == nil {
			r.logger.Info().Str("host", one.host).Msg("standby is current; reading lists from it")
		} else if changed {
			r.logger.Warn().Err(err).Str("host", one.host).Msg("standby did not answer; reading lists elsewhere")
		}
		if clock.Sleep(ctx, r.clock, askReplicaEvery) != nil {
			return
		}
	}
}

// set notes whether the standby answers, and reports whether that is new.
func (one *replica) set(answers bool) (changed bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if answers == (one.up.Err() == nil) {
		return false
	}
	if answers {
		one.up, one.down = context.WithCancel(context.Background())
	} else {
		one.down()
	}
	return true
}

// reading is a context for a read, which also ends when the standby stops answering; nil if it does not answer now.
func (one *replica) reading(ctx context.Context) (context.Context, func()) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.up.Err() != nil {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(one.up, cancel)
	return ctx, func() { forget(); cancel() }
}

// Read calls read with a pool that has everything that was committed before. If a standby fails, it calls it again with the
// pool of the primary. read must only read.
func (r *Replicas) Read(ctx context.Context, read func(context.Context, *pgxpool.Pool) error) error {
	if len(r.list) == 0 {
		return read(ctx, r.primary)
	}
	outcome, err := r.onStandby(ctx, read)
	r.reads.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
	if outcome == served || ctx.Err() != nil {
		return err
	}
	return read(ctx, r.primary)
}

// Outcomes of a read.
const (
	served  = "replica"
	down    = "primary: down"
	lagging = "primary: lagging"
	failed  = "primary: failed"
)

// onStandby tries one standby.
func (r *Replicas) onStandby(ctx context.Context, read func(context.Context, *pgxpool.Pool) error) (outcome string, err error) {
	var one *replica
	var reading context.Context
	var done func()
	for range r.list {
		one = r.list[int(r.next.Add(1))%len(r.list)]
		if reading, done = one.reading(ctx); reading != nil {
			break
		}
	}
	if reading == nil {
		return down, nil
	}
	defer done()
	caught, err := r.catchUp(reading, one)
	switch {
	case err != nil:
		return failed, err
	case !caught:
		return lagging, nil
	}
	err = read(reading, one.pool)
	if err != nil && (reading.Err() != nil || IsTransient(err)) {
		return failed, err // down, or the standby replayed what removes rows that the read may still need
	}
	return served, err
}

// catchUp waits until a standby has replayed what the primary has written by now, and reports whether it has.
func (r *Replicas) catchUp(ctx context.Context, one *replica) (bool, error) {
	var position, timeline string
	const ask = `SELECT pg_current_wal_flush_lsn()::text, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)`
	if err := r.primary.QueryRow(ctx, ask).Scan(&position, &timeline); err != nil {
		return false, fmt.Errorf("ask the primary for the end of its log: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.maxWait)
	defer cancel()
	for {
		// A standby that follows an old primary may be further on a timeline that no one else has.
		const compare = `SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::pg_lsn
			AND ('x' || $2)::bit(32)::int = (SELECT min_recovery_end_timeline FROM pg_control_recovery())`
		var caught bool
		err := one.pool.QueryRow(ctx, compare, position, timeline).Scan(&caught)
		if err == nil && caught {
			return true, nil
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("ask a standby how far it is: %w", err)
		}
		if clock.Sleep(ctx, r.clock, catchUpPause) != nil {
			return false, nil
		}
	}
}
