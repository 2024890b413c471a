package pgdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// lookEvery is how often the primary is asked whether it still is one.
	lookEvery = time.Second
	// lookLimit is how long a server may take to answer that before the others are asked. A slow primary remains the
	// primary, since none of the others is one.
	lookLimit = 3 * time.Second
)

// Failover keeps a pool at the primary of several servers, those that its URL lists: postgres://a,b/flyte. It connects to
// the server that accepts writes and has the newest timeline, which is the one that was promoted last. When another
// server takes over, it cuts the connections to the old one. An old primary that is frozen, or that lost its network, would
// otherwise keep every caller waiting, and one that continues after another was promoted would answer from the past.
//
// With one server in the URL it does nothing.
type Failover struct {
	lifecycle.Background
	clock  clock.Clock
	logger zerolog.Logger

	mu       sync.Mutex
	servers  []server              // GUARDED_BY(mu): in the order of the URL; fewer than two mean that there is nothing to do
	config   *pgx.ConnConfig       // GUARDED_BY(mu): of the pool
	primary  server                // GUARDED_BY(mu): zero before the first look
	timeline uint64                // GUARDED_BY(mu): the newest that was seen; 0 before the first
	promoted bool                  // GUARDED_BY(mu): it has grown since the primary was noted
	open     map[*trackedConn]bool // GUARDED_BY(mu): connections of the pool and of those that copy its configuration
}

// server is where a server of the URL is.
type server struct {
	host string
	port uint16
}

var _ lifecycle.Part = (*Failover)(nil)

// NewFailover returns a part for one pool. Give it to Open with WithFailover and start it afterwards.
func NewFailover(clk clock.Clock, logger zerolog.Logger) *Failover {
	return &Failover{clock: clk, logger: logger, open: map[*trackedConn]bool{}}
}

// WithFailover makes the connections of the pool follow the primary.
func WithFailover(f *Failover) Option {
	return func(config *pgxpool.Config) { f.attach(config) }
}

// attach sets the hooks of a pool. Copies of the pool's configuration have them too.
func (f *Failover) attach(config *pgxpool.Config) {
	servers := serversOf(config.ConnConfig)
	if len(servers) < 2 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers, f.config = servers, config.ConnConfig.Copy()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return f.track(conn), nil
	}
	config.ConnConfig.ValidateConnect = f.judge
	config.BeforeConnect = func(_ context.Context, one *pgx.ConnConfig) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		preferServer(one, f.primary)
		return nil
	}
}

// judge refuses a connection to a server that is not a primary, or that was one before the last promotion.
func (f *Failover) judge(ctx context.Context, conn *pgconn.PgConn) error {
	timeline, err := readTimeline(ctx, conn)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if timeline < f.timeline {
		return fmt.Errorf("this server has timeline %d, and another was promoted since: its timeline is %d", timeline, f.timeline)
	}
	f.learn(timeline)
	return nil
}

// learn notes a timeline that is not older than the newest. The caller holds mu.
func (f *Failover) learn(timeline uint64) {
	f.promoted = f.promoted || (f.timeline > 0 && timeline > f.timeline)
	f.timeline = timeline
}

// Start implements lifecycle.Part.
func (f *Failover) Start(ctx context.Context) error {
	f.mu.Lock()
	idle := len(f.servers) < 2
	f.mu.Unlock()
	if idle {
		return nil
	}
	return f.Run(ctx, f.watch)
}

// watch asks the primary whether it still is one, and looks for another when it is not or does not answer.
func (f *Failover) watch(ctx context.Context) {
	var line *pgconn.PgConn
	defer func() { hangUp(line) }()
	for {
		if !f.stands(ctx, line) {
			hangUp(line)
			line = f.find(ctx)
		}
		if clock.Sleep(ctx, f.clock, lookEvery) != nil {
			return
		}
	}
}

// stands reports whether the server at the other end is the newest primary that is known.
func (f *Failover) stands(ctx context.Context, line *pgconn.PgConn) bool {
	if line == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	return f.judge(ctx, line) == nil
}

// find asks all servers and returns a connection to the primary with the newest timeline; nil if there is none. If it is
// another than before, connections to the old one are cut.
func (f *Failover) find(ctx context.Context) *pgconn.PgConn {
	f.mu.Lock()
	servers, config := f.servers, f.config
	f.mu.Unlock()
	lines, timelines := make([]*pgconn.PgConn, len(servers)), make([]uint64, len(servers))
	var asking sync.WaitGroup
	for i, one := range servers {
		asking.Go(func() {
			asked, cancel := context.WithTimeout(ctx, lookLimit)
			defer cancel()
			only := config.Copy()
			preferServer(only, one)
			only.Fallbacks = slices.DeleteFunc(only.Fallbacks, func(b *pgconn.FallbackConfig) bool { return server{b.Host, b.Port} != one })
			var err error
			if lines[i], err = pgconn.ConnectConfig(asked, &only.Config); err == nil {
				timelines[i], err = readTimeline(asked, lines[i])
			}
			if err != nil && ctx.Err() == nil {
				f.logger.Debug().Err(err).Str("host", one.host).Msg("database server is not the primary")
			}
		})
	}
	asking.Wait()
	best := -1
	for i, timeline := range timelines {
		if timeline > 0 && (best < 0 || timeline > timelines[best]) {
			best = i
		}
	}
	for i, line := range lines {
		if i != best {
			hangUp(line)
		}
	}
	if best < 0 || !f.settle(servers[best], timelines[best]) {
		if best >= 0 {
			hangUp(lines[best])
		}
		return nil
	}
	return lines[best]
}

// settle notes the primary, and reports whether it is one that may be used. When it is another than before, or was promoted since
// the first connection, it cuts all connections that were opened before.
func (f *Failover) settle(primary server, timeline uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if timeline < f.timeline {
		return false
	}
	f.learn(timeline)
	moved := f.promoted || (f.primary != server{} && f.primary != primary)
	f.primary, f.promoted = primary, false
	if !moved {
		return true
	}
	f.logger.Warn().Str("host", primary.host).Uint64("timeline", timeline).Int("cut", len(f.open)).Msg("primary database server changed; closing connections to the old one")
	for conn := range f.open {
		_ = conn.Conn.Close() // it may be half dead; its user gets an error
	}
	clear(f.open)
	return true
}

// trackedConn is a connection that a failover cuts.
type trackedConn struct {
	net.Conn
	of *Failover
}

func (f *Failover) track(conn net.Conn) net.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	tracked := &trackedConn{conn, f}
	f.open[tracked] = true
	return tracked
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

var errStandby = errors.New("this server is a standby")

// readTimeline is the timeline of a primary, which each promotion increases.
func readTimeline(ctx context.Context, conn *pgconn.PgConn) (uint64, error) {
	const ask = `SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END`
	results, err := conn.Exec(ctx, ask).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("ask for the timeline: %w", err)
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 1 {
		return 0, errors.New("ask for the timeline: no answer")
	}
	text := string(results[0].Rows[0][0])
	if text == "" {
		return 0, errStandby
	}
	timeline, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("read the timeline: %w", err)
	}
	return timeline, nil
}

func hangUp(line *pgconn.PgConn) {
	if line == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = line.Close(ctx) // its server may be gone
}

// serversOf lists the servers of a configuration once each.
func serversOf(config *pgx.ConnConfig) []server {
	servers := []server{{config.Host, config.Port}}
	for _, other := range config.Fallbacks {
		if one := (server{other.Host, other.Port}); !slices.Contains(servers, one) {
			servers = append(servers, one)
		}
	}
	return servers
}

// preferServer makes a server the first that is tried.
func preferServer(config *pgx.ConnConfig, first server) {
	all := []*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}
	all = append(all, config.Fallbacks...)
	slices.SortStableFunc(all, func(a, b *pgconn.FallbackConfig) int { return rank(a, first) - rank(b, first) })
	config.Host, config.Port, config.TLSConfig = all[0].Host, all[0].Port, all[0].TLSConfig
	config.Fallbacks = all[1:]
}

func rank(one *pgconn.FallbackConfig, first server) int {
	if (server{one.Host, one.Port}) == first {
		return 0
	}
	return 1
}
