package pgdb

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config says how to reach the database.
type Config struct {
	// URL is a libpq connection string or URL, such as postgres://flyte@db.example:5432/flyte. It may list several servers, as in
	// postgres://flyte@a.example,b.example/flyte: the server then uses the one that is the primary, and follows when another
	// is promoted. Required.
	URL string `config:"url" sensitive:"true"`
	// PasswordFile holds the password, for secrets that are mounted as files. It replaces the URL's password.
	PasswordFile string `config:"passwordFile"`
	// ReadReplicas are the URLs of standbys that lists of runs and actions and the figures of overviews are read from, such as
	// [postgres://flyte@standby.example/flyte]. Each has a pool of maxConns connections. Without any, the primary is read.
	ReadReplicas []string `config:"readReplicas" sensitive:"whole"`
	// ReplicaMaxWait is how long a read waits for a standby that has not replayed everything yet, before it uses the primary.
	// Defaults to 100ms.
	ReplicaMaxWait time.Duration `config:"replicaMaxWait"`
	// MaxConns bounds the connections of one process. Defaults to 20.
	MaxConns int32 `config:"maxConns"`
	// MinIdleConns are kept open so that a burst does not wait for handshakes. Defaults to 4.
	MinIdleConns int32 `config:"minIdleConns"`
	// ConnectTimeout bounds one attempt to connect. Defaults to 5s.
	ConnectTimeout time.Duration `config:"connectTimeout"`
	// MaxConnLifetime is after how long a connection is replaced. Defaults to 1h.
	MaxConnLifetime time.Duration `config:"maxConnLifetime"`
	// StatementTimeout makes the server end statements that take longer; 0 means never. Defaults to 30s.
	StatementTimeout time.Duration `config:"statementTimeout"`
	// Migrate applies pending migrations when the process starts. Defaults to true.
	Migrate bool `config:"migrate"`
}

// DefaultConfig has every default; the URL is left empty.
func DefaultConfig() Config {
	return Config{
		ReplicaMaxWait:   100 * time.Millisecond,
		MaxConns:         20,
		MinIdleConns:     4,
		ConnectTimeout:   5 * time.Second,
		MaxConnLifetime:  time.Hour,
		StatementTimeout: 30 * time.Second,
		Migrate:          true,
	}
}

// Validate names the field that is wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.URL == "", "url: required, such as postgres://flyte@localhost:5432/flyte")
	found.If(c.MaxConns < 0, "maxConns: must not be negative")
	found.If(c.MinIdleConns < 0, "minIdleConns: must not be negative")
	found.If(c.MaxConns > 0 && c.MinIdleConns > c.MaxConns, "minIdleConns: must not exceed maxConns")
	found.If(c.ConnectTimeout < 0, "connectTimeout: must not be negative")
	found.If(c.StatementTimeout < 0, "statementTimeout: must not be negative")
	if _, err := pgxpool.ParseConfig(c.URL); err != nil {
		found.Add("url: %w", err)
	}
	for i, url := range c.ReadReplicas {
		if _, err := pgxpool.ParseConfig(url); err != nil {
			found.Add("readReplicas[%d]: %w", i, err)
		}
	}
	found.If(len(c.ReadReplicas) > 0 && c.ReplicaMaxWait <= 0, "replicaMaxWait: must be positive, got %s", c.ReplicaMaxWait)
	return found.Err()
}
