package pgdb

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"
)

// Option changes how Open works.
type Option func(*pgxpool.Config)

// WithTracer creates a span of each statement.
func WithTracer(provider trace.TracerProvider) Option {
	return func(c *pgxpool.Config) {
		c.ConnConfig.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(provider))
	}
}

// Open creates a pool and verifies it with one round trip; a server older than OldestServer is refused with VersionError. Times are read in UTC.
func Open(ctx context.Context, config Config, options ...Option) (*pgxpool.Pool, error) {
	pool, err := poolConfig(config, options...)
	if err != nil {
		return nil, err
	}
	opened, err := pgxpool.NewWithConfig(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := opened.Ping(ctx); err != nil {
		opened.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	if err := opened.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return checkVersion(conn.Conn().PgConn().ParameterStatus("server_version"))
	}); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

// poolConfig is the configuration of a pool.
func poolConfig(config Config, options ...Option) (*pgxpool.Config, error) {
	pool, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("parse database url: %w", err)
	}
	if config.PasswordFile != "" {
		password, err := os.ReadFile(config.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read database password: %w", err)
		}
		pool.ConnConfig.Password = strings.TrimSpace(string(password))
	}
	if config.MaxConns > 0 {
		pool.MaxConns = config.MaxConns
	}
	pool.MinIdleConns = min(config.MinIdleConns, pool.MaxConns)
	if config.ConnectTimeout > 0 {
		pool.ConnConfig.ConnectTimeout = config.ConnectTimeout
	}
	if config.MaxConnLifetime > 0 {
		pool.MaxConnLifetime = config.MaxConnLifetime
		pool.MaxConnLifetimeJitter = config.MaxConnLifetime / 10
	}
	parameters := pool.ConnConfig.RuntimeParams
	parameters["timezone"] = "UTC"
	if parameters["application_name"] == "" {
		parameters["application_name"] = "flyte-binary"
	}
	parameters["idle_in_transaction_session_timeout"] = strconv.FormatInt(idleInTransaction.Milliseconds(), 10)
	if config.StatementTimeout > 0 {
		parameters["statement_timeout"] = strconv.FormatInt(config.StatementTimeout.Milliseconds(), 10)
	}
	pool.AfterConnect = readTimesInUTC
	for _, option := range options {
		option(pool)
	}
	return pool, nil
}

// idleInTransaction is how long the server waits for the next statement of a transaction before it rolls it back. A process that is frozen,
// or whose machine is, would keep its locks otherwise, and all replicas wait for them: one in the middle of renewing a lease stopped
// admission until it continued. No transaction waits for anything but the database.
const idleInTransaction = 10 * time.Second

// OldestServer is the oldest major version of Postgres that has what the migrations and statements use.
const OldestServer = 13

// VersionError is a server that is too old.
type VersionError struct{ Version string }

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the server is Postgres %s, and %d is the oldest that is supported", e.Version, OldestServer)
}

// checkVersion refuses servers that are too old. Other products that speak the protocol may have a version of another form.
func checkVersion(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err == nil && number < OldestServer {
		return &VersionError{Version: version}
	}
	return nil
}

// readTimesInUTC keeps the machine's zone out of what is read.
func readTimesInUTC(_ context.Context, conn *pgx.Conn) error {
	types := conn.TypeMap()
	moment := &pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	}
	types.RegisterType(moment)
	types.RegisterType(&pgtype.Type{
		Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID, Codec: &pgtype.ArrayCodec{ElementType: moment},
	})
	return nil
}
