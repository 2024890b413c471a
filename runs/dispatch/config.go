package dispatch

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the stream of assignments.
type Config struct {
	// Heartbeat is the pause after which an idle stream repeats its sentinel.
	Heartbeat time.Duration `config:"heartbeat"`
	// MaxAge is after how long a stream ends cleanly; the client subscribes again.
	MaxAge time.Duration `config:"maxAge"`
	// Poll is how often a stream compares what its client knows with everything that is live.
	Poll time.Duration `config:"poll"`
	// PageSize is the number of references in one message of the snapshot.
	PageSize int `config:"pageSize"`
}

// DefaultConfig suits every installation.
func DefaultConfig() Config {
	return Config{Heartbeat: 15 * time.Second, MaxAge: 10 * time.Minute, Poll: 30 * time.Second, PageSize: 1000}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Heartbeat <= 0, "heartbeat: must be positive, got %s", c.Heartbeat)
	found.If(c.MaxAge <= 0, "maxAge: must be positive, got %s", c.MaxAge)
	found.If(c.Poll <= 0, "poll: must be positive, got %s", c.Poll)
	found.If(c.PageSize < 1 || c.PageSize > 10_000, "pageSize: must be from 1 to 10000, got %d", c.PageSize)
	return found.Err()
}
