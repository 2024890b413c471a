package pgdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Notification is one notification of a channel.
type Notification struct {
	// Payload is the text of one NOTIFY.
	Payload string
	// Resync says that notifications may have been lost: the connection is new, the first one included. Payload is
	// then empty, and everything has to be read again.
	Resync bool
}

const (
	// keepAlive is how often an idle connection is probed, since one that broke silently would go unnoticed.
	keepAlive = 15 * time.Second
	// answerLimit bounds that probe.
	answerLimit = 5 * time.Second

	backoffFirst = 50 * time.Millisecond
	backoffLast  = 5 * time.Second
)

// Listener listens on several channels over one connection of its own, outside of the pool. When that breaks it opens
// another, with backoff, and sends Resync on every channel.
type Listener struct {
	lifecycle.Background
	pool     *pgxpool.Pool
	clock    clock.Clock
	logger   zerolog.Logger
	channels map[string][]func(Notification)
}

var _ lifecycle.Part = (*Listener)(nil)

// NewListener returns a listener that calls the function of a channel for each notification on it, in order. The
// functions must not block for long.
func NewListener(pool *pgxpool.Pool, clk clock.Clock, logger zerolog.Logger, channels map[string]func(Notification)) *Listener {
	l := &Listener{pool: pool, clock: clk, logger: logger, channels: map[string][]func(Notification){}}
	l.Hear(channels)
	return l
}

// Hear adds channels. It must be called before Start.
func (l *Listener) Hear(channels map[string]func(Notification)) {
	for channel, heard := range channels {
		l.channels[channel] = append(l.channels[channel], heard)
	}
}

// Listen adds channels to a listener that others use too, and returns a part that has nothing to do: every commit that notifies
// wakes every listening connection of the database, so a process should have one. If shared is nil, the part is a listener of the
// caller's own.
func Listen(shared *Listener, pool *pgxpool.Pool, clk clock.Clock, logger zerolog.Logger, channels map[string]func(Notification)) lifecycle.Part {
	if shared == nil {
		return NewListener(pool, clk, logger, channels)
	}
	shared.Hear(channels)
	return lifecycle.Idle{}
}

// Start implements lifecycle.Part. It does not wait for the connection.
func (l *Listener) Start(ctx context.Context) error { return l.Run(ctx, l.listen) }

func (l *Listener) listen(ctx context.Context) {
	retries := backoff.New(backoffFirst, backoffLast)
	for {
		err := l.listenOnce(ctx, retries.Reset)
		if ctx.Err() != nil {
			return
		}
		pause := retries.Next()
		l.logger.Warn().Err(err).Dur("pause", pause).Msg("the listening connection failed; reconnecting")
		if clock.Sleep(ctx, l.clock, pause) != nil {
			return
		}
	}
}

// listenOnce serves one connection to its end.
func (l *Listener) listenOnce(ctx context.Context, connected func()) error {
	pool := l.pool.Config()
	config := pool.ConnConfig
	config.Tracer = nil // its statements would be noise
	if pool.BeforeConnect != nil {
		if err := pool.BeforeConnect(ctx, config); err != nil {
			return fmt.Errorf("connect: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // it is broken or no longer needed
	}()
	for channel := range l.channels {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return fmt.Errorf("listen on %s: %w", channel, err)
		}
	}
	connected()
	for channel := range l.channels {
		l.pass(channel, Notification{Resync: true})
	}
	for {
		notification, err := wait(ctx, conn, keepAlive)
		if err != nil {
			return err
		}
		if notification == nil {
			continue
		}
		l.pass(notification.Channel, Notification{Payload: notification.Payload})
	}
}

func (l *Listener) pass(channel string, n Notification) {
	for _, heard := range l.channels[channel] {
		heard(n)
	}
}

// wait returns the next notification, or nil when there was none for a while and the connection still answers.
func wait(ctx context.Context, conn *pgx.Conn, silence time.Duration) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, silence)
	notification, err := conn.WaitForNotification(quiet)
	cancel()
	if err == nil {
		return notification, nil
	}
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || conn.IsClosed() {
		return nil, fmt.Errorf("wait for notification: %w", err)
	}
	trial, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if err := conn.Ping(trial); err != nil {
		return nil, fmt.Errorf("listening connection is silent: %w", err)
	}
	return nil, nil //nolint:nilnil // documented
}
