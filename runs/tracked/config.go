package tracked

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures tracked runs.
type Config struct {
	// Silence is after how long without any report a run is ended as ABORTED, since its client may have died; 0 means
	// never. Clients report when an action begins or ends and send no heartbeats, so it must exceed the longest task that
	// people run on their own machines. Default 72h.
	Silence time.Duration `config:"silence"`
	// MaxConns bounds the database connections of one process for tracked runs, in addition to database.maxConns. They
	// are opened when they are used. Default 5.
	MaxConns int32 `config:"maxConns"`
}

// DefaultConfig suits every size.
func DefaultConfig() Config { return Config{Silence: 72 * time.Hour, MaxConns: 5} }

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Silence < 0, "silence: must not be negative, got %s", c.Silence)
	found.If(c.MaxConns < 2, "maxConns: must be at least 2, got %d", c.MaxConns)
	return found.Err()
}
