package pgdb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Notification is what a listener hears.
type Notification struct {
	// Payload is the text of one NOTIFY.
	Payload string
	// Resync says that notifications may have been lost: the connection is new, the first one included. Payload is
	// then empty, and everything has to be read again.
	Resync bool
}

const (
	// keepAlive is how often a silent connection is tried, since one that broke silently would never say so.
	keepAlive = 15 * time.Second
	// answerLimit bounds that try.
	answerLimit = 5 * time.Second

	backoffFirst = 50 * time.Millisecond
	backoffLast  = 5 * time.Second
)

// Listen calls heard for each notification on channel, in order, until the context ends; it then returns nil. It
// holds a connection of its own outside the pool, and when that breaks it opens another, with growing pauses, and
// says Resync. heard must not block for long.
func Listen(
	ctx context.Context, pool *pgxpool.Pool, channel string, clk clock.Clock, heard func(Notification),
) error {
	pause := backoffFirst
	for {
		err := listenOnce(ctx, pool.Config().ConnConfig, channel, func(n Notification) {
			pause = backoffFirst
			heard(n)
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // told to end
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str("channel", channel).Msg("lost the listening connection")
		timer := clk.NewTimer(pause + rand.N(pause)) //nolint:gosec // only spreads reconnections
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		pause = min(2*pause, backoffLast)
	}
}

// listenOnce serves one connection to its end.
func listenOnce(ctx context.Context, config *pgx.ConnConfig, channel string, heard func(Notification)) error {
	config.Tracer = nil // its statements would be noise
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // it is broken or no longer needed
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	heard(Notification{Resync: true})
	for {
		notification, err := wait(ctx, conn, keepAlive)
		if err != nil {
			return err
		}
		if notification != nil {
			heard(Notification{Payload: notification.Payload})
		}
	}
}

// wait returns the next notification, or nil when there was none for a while and the connection still answers.
func wait(ctx context.Context, conn *pgx.Conn, patience time.Duration) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, patience)
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
